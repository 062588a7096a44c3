"""Text that came from outside, made fit for a record and a screen."""

import unicodedata

DETAIL_CHARS = 500
BLANK = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


def clean(text: str, limit: int = DETAIL_CHARS) -> str:
    """The text on one line, without control characters and lone surrogates, cut to `limit`."""
    return " ".join(visible(text[: 4 * limit]).split())[:limit]


def visible(text: str) -> str:
    """The text letter by letter, control characters as blanks and lone surrogates as U+FFFD."""
    return "".join(_fit(letter) for letter in text)


def _fit(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if unicodedata.category(letter) in BLANK else "\ufffd"
