"""How an answer is read from an output: what follows the last marker, in plain characters."""

import re
import unicodedata
from typing import Final

from rsi_master.programs.nano.format import MARKER

_MINUS_SIGNS: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_MARKER: Final = re.compile(rf"\b{MARKER}\b:?", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?:(?<!\))-\(*)?"  # a minus after a value is an operator, not a sign
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
    r"(?!,*\w|\.\d)"  # of any script, and not a part of a longer number
)
_BETWEEN: Final = re.compile(r"[\s,;]+")


def answer_of(output: str) -> str:
    """Return the part of an output that is its answer, all of it where no marker stands."""
    usual = "".join(map(_plain, output))
    plain = unicodedata.normalize("NFC", usual).translate(_MINUS_SIGNS)
    return _MARKER.split(plain)[-1].strip().removesuffix(".").rstrip()


def words_of(answer: str) -> tuple[str, ...]:
    """Return the casefolded parts of an answer between spaces, commas and semicolons."""
    return tuple(word for word in _BETWEEN.split(answer.casefold()) if word)


def last_number(answer: str) -> str | None:
    """Return the last number in canonical form, None where there is none."""
    numbers = _NUMBER.findall(answer)
    if not numbers:
        return None
    number: str = numbers[-1].replace(",", "").replace("(", "")
    if "." in number:
        return number
    digits = number.lstrip("-").lstrip("0") or "0"
    return f"-{digits}" if number.startswith("-") and digits != "0" else digits


def _plain(char: str) -> str:
    """The usual form of a character; what is no digit does not become one, as `²` and `½` would."""
    usual = unicodedata.normalize("NFKC", char)
    return usual if char.isdecimal() or not any(map(str.isdigit, usual)) else char
