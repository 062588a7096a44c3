"""How an answer is read from a text, and when two answers are equal.

The answer is the line after the last marker, `answer:`, `answer is` or `####`; without a marker it
is all of the text. Compared are plain characters without case, extra space, emphasis and a final
full stop, numbers by their value. Fractions, units and words for numbers are compared as they
stand.
"""

import re
import unicodedata
from typing import Final

_MARKER: Final = re.compile(r"####|\banswer(?:\s+is)?\s*\**\s*:|\banswer\s+is\b", re.IGNORECASE)
_MINUS_SIGNS: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(-?)\$?([0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(\.[0-9]+)?"
    r"(?!,?\w|\.[0-9])"  # not a part of a longer number or of a word
)
_AROUND: Final = " *`_\"'"


def answer_of(text: str) -> str:
    """The answer of a text in canonical form, empty where it gives none."""
    parts = _MARKER.split(text)
    if len(parts) == 1:
        return canonical(text)
    lines = (canonical(line) for line in parts[-1].splitlines())
    return next((line for line in lines if line), "")


def canonical(answer: str) -> str:
    """The form in which answers are compared."""
    words = " ".join(plain(answer).casefold().split())
    bare = words.strip(_AROUND).removesuffix(".").strip(_AROUND)
    return _NUMBER.sub(_value, bare or words)


def plain(text: str) -> str:
    """A text in usual characters: NFC and usual forms, all dashes as `-`, nothing invisible."""
    return "".join(map(_plain, unicodedata.normalize("NFC", text))).translate(_MINUS_SIGNS)


def points(prompt: str, answer: str, reference: str | None = None) -> float | None:
    """1 for an answer that equals the reference, else 0; None without a reference. The open
    verifier of training prompts, and what decides on sealed ones."""
    if reference is None:
        return None
    found = answer_of(answer)
    return float(found != "" and found == answer_of(reference))


def _plain(char: str) -> str:
    """The usual form of a character, nothing for one that shows nothing; what is no digit does not
    become one, as `²` and `½` would."""
    if unicodedata.category(char) == "Cf":
        return ""
    usual = unicodedata.normalize("NFKC", char)
    return usual if char.isdecimal() or not any(map(str.isdigit, usual)) else char


def _value(number: re.Match[str]) -> str:
    sign, whole, part = number.group(1), number.group(2), number.group(3) or ""
    digits = whole.replace(",", "").lstrip("0") or "0"
    value = digits + part.rstrip("0").removesuffix(".")
    return value if value == "0" else sign + value
