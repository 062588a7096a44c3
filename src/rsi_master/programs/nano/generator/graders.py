"""Verdicts on the model's outputs for sealed items; code is run on inputs that no job has seen."""

import hashlib
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.verifiers import check, extract

Verdict = Literal["right", "wrong", "no_answer"]

_EDGES: Final = (-1, 0, 1)
_HIDDEN: Final = 9
_SPREADS: Final = (12, 90)


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdict on one output and the answer that was read from it."""

    verdict: Verdict
    extracted: str | None


def grade(item: Item, output: str) -> Grade:
    """Return the verdict on `output`, the text after the item's prompt without special tokens."""
    extracted = extract(item.task, output)
    if extracted is None:
        return Grade("no_answer", None)
    right = check(item.task, extracted, item.reference, hidden_inputs(item))
    return Grade("right" if right else "wrong", extracted)


def hidden_inputs(item: Item) -> tuple[int, ...]:
    """Return the inputs for a code item: the edges, then small and large ones drawn by its id."""
    rng = Random(int.from_bytes(hashlib.sha256(item.id.encode()).digest()[:8]))
    return (*_EDGES, *(rng.randint(-s, s) for s in _SPREADS for _ in range(_HIDDEN)))
