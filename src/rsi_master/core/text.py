"""Text that came from outside, made fit for a record and a screen."""

import unicodedata

DETAIL_CHARS = 500
BLANK = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


def clean(text: str, limit: int = DETAIL_CHARS) -> str:
    """The text on one line, without control characters and lone surrogates, cut to `limit`."""
    fit = (_fit(letter) for letter in text[: 4 * limit])
    return " ".join("".join(fit).split())[:limit]


def _fit(letter: str) -> str:
    if letter.isprintable():
        return letter
    return " " if unicodedata.category(letter) in BLANK else "\ufffd"
