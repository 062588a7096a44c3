"""Verdicts on the model's outputs for sealed items; code is run on inputs that no job has seen."""

import hashlib
import re
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.generator.tasks import care, code
from rsi_master.programs.nano.lexicon import REMEDIES
from rsi_master.programs.nano.minilang import ExpressionError, parse
from rsi_master.programs.nano.questions.calls import CALL
from rsi_master.programs.nano.questions.code import Program
from rsi_master.programs.nano.questions.write import list_of
from rsi_master.programs.nano.reading import answer_of, last_number, words_of
from rsi_master.programs.nano.verifiers import read

Verdict = Literal["right", "wrong", "no_answer"]

_HIDDEN: Final = 9
_SPREADS: Final = (12, 90)
_WORD: Final = re.compile("[a-z]+")


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one output, the answer that was read from it, and its points in 0..1.

    `right` means full points; a `wrong` answer of the task care may have some.
    """

    verdict: Verdict
    extracted: str | None
    points: float


def grade(item: Item, output: str) -> Grade:
    """Return the verdict on `output`, the text after the item's prompt without special tokens."""
    extracted = extract(item, output)
    if extracted is None:
        return Grade("no_answer", None, 0.0)
    points = _points(item, extracted)
    return Grade("right" if points == 1.0 else "wrong", extracted, points)


def extract(item: Item, output: str) -> str | None:
    """Return the answer that `output` gives, None where it has not the form of one."""
    answer = answer_of(output)
    match item.task:
        case "sums" | "chain":
            return last_number(answer)
        case "code":
            return answer if _parses(answer) else None
        case "calls":
            return answer if CALL.fullmatch(answer) else None
        case "facts":
            return answer.casefold() if _WORD.fullmatch(answer.casefold()) else None
        case "write":
            return answer.casefold() if list_of(answer) else None
        case "care":
            return answer.casefold() if set(words_of(answer)) & set(REMEDIES) else None


def hidden_inputs(item: Item) -> tuple[int, ...]:
    """Return the inputs for a code item: the fixed ones, then small and large ones by its id."""
    rng = Random(int.from_bytes(hashlib.sha256(item.id.encode()).digest()[:8]))
    return (*code.INPUTS, *(rng.randint(-s, s) for s in _SPREADS for _ in range(_HIDDEN)))


def _points(item: Item, answer: str) -> float:
    if item.task == "facts":
        return float(answer == item.reference)
    if item.task == "care":
        return care.credit(answer, item.reference)
    found = read(item.prompt)
    if found is None:
        raise ValueError(f"item {item.id} of {item.task} does not read back; seal the set again")
    _, question = found
    if isinstance(question, Program):
        return question.points(answer, hidden_inputs(item))
    return question.points(answer)


def _parses(text: str) -> bool:
    try:
        parse(text)
    except ExpressionError:
        return False
    return True
