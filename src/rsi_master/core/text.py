"""Text that came from outside, made fit for a record and a screen."""

import unicodedata

DETAIL_CHARS = 500
BLANK = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


def clean(text: str, limit: int = DETAIL_CHARS) -> str:
    """The text on one line, without control characters and lone surrogates, cut to `limit`."""
    return line(text[: 4 * limit])[:limit]


def line(text: str) -> str:
    """The whole text on one line, without control characters and lone surrogates."""
    return " ".join(visible(text).split())


def visible(text: str) -> str:
    """The text letter by letter, control characters as blanks and lone surrogates as U+FFFD."""
    return text if text.isprintable() else "".join(map(_fit, text))


def escaped(text: str) -> str:
    """A JSON text of the same value in which every letter shows, but for its line breaks: what
    does not is written as an escape. Odd letters stand in strings alone, so this may follow any
    encoder."""
    return "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in text)


def _fit(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if unicodedata.category(letter) in BLANK else "\ufffd"


def _escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{pair.hex()}" for pair in pairs)
