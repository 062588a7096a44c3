"""Answer extraction and checking: strict, open to training jobs, blind to generators and items."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from rsi_master.programs.nano.format import MARKER, Task
from rsi_master.programs.nano.minilang import EvaluationError, ExpressionError, evaluate, parse

OPEN_INPUTS: Final = (-7, -1, 0, 1, 2, 3, 10, 41)

_MINUS_SIGNS: Final = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-"))
_MARKER: Final = re.compile(rf"\b{MARKER}\b:?", re.IGNORECASE)
_NUMBER: Final = re.compile(
    r"(?<![\w.,])(?:(?<!\))-)?"  # a minus after a value is an operator, not a sign
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?"
    r"(?![\w,]*[0-9a-z])",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[a-z]+")


def extract(task: Task, text: str) -> str | None:
    """Return the answer that `text` gives in canonical form, None where it gives none."""
    plain = unicodedata.normalize("NFKC", text).translate(_MINUS_SIGNS)
    answer = _MARKER.split(plain)[-1].strip().removesuffix(".").rstrip()
    if task == "sums":
        return _last_number(answer)
    if task == "facts":
        return answer.casefold() if _WORD.fullmatch(answer.casefold()) else None
    return answer if _parses(answer) else None


def check(task: Task, answer: str, reference: str, inputs: Sequence[int] = OPEN_INPUTS) -> bool:
    """Tell whether an extracted `answer` is right; code is compared by its values at `inputs`."""
    if task == "code":
        return _agree(answer, reference, inputs)
    return answer == reference


def _last_number(text: str) -> str | None:
    numbers = _NUMBER.findall(text)
    if not numbers:
        return None
    number = numbers[-1].replace(",", "")
    return str(int(number)) if number.lstrip("-").isdigit() else number


def _parses(text: str) -> bool:
    try:
        parse(text)
    except ExpressionError:
        return False
    return True


def _agree(answer: str, reference: str, inputs: Sequence[int]) -> bool:
    try:
        found, wanted = parse(answer), parse(reference)
        return all(evaluate(found, x) == evaluate(wanted, x) for x in inputs)
    except (ExpressionError, EvaluationError):
        return False
