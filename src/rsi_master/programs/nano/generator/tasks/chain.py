"""Chains: operations modulo 11 that never pass through zero.

The careless once take 10 for 11, and where that would not show add one too many at the end.
"""

from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Answer, Problem
from rsi_master.programs.nano.partition import Split, split_of
from rsi_master.programs.nano.questions.chain import MODULUS, Chain, apply

LENGTH: Final = 4
OPERATIONS: Final = (*(("+", n) for n in range(1, 10)), *(("*", n) for n in range(2, 10)))
_WRONG: Final = 10


def step(left: int, sign: str, number: int) -> str:
    """Return one solved step: `step(4, "*", 3)` is `4*3=1`."""
    return f"{left}{sign}{number}={apply(left, sign, number)}"


def generate(rng: Random, split: Split) -> Problem:
    """Return a chain of `LENGTH` operations."""
    while True:
        operations = tuple(rng.choice(OPERATIONS) for _ in range(LENGTH))
        asked = Chain(rng.randrange(1, MODULUS), operations)
        if split_of("chain", asked.key) == split and all(asked.values):
            return Problem("chain", asked.key, asked.text, _right(asked), _careless(rng, asked))


def _right(asked: Chain) -> Answer:
    pairs = zip(asked.values, asked.operations, strict=False)
    steps = tuple(step(value, sign, number) for value, (sign, number) in pairs)
    return Answer(steps, str(asked.values[-1]))


def _careless(rng: Random, asked: Chain) -> Answer:
    """Return the answer with one slip that shows in the result.

    No problem is drawn again for want of a slip: the corpus, which the base has read, would change.
    """
    places = rng.sample(range(LENGTH), LENGTH)
    right = _right(asked)
    slips = (_slipped(asked, place) for place in places)
    return next((one for one in slips if one.result != right.result), _one_too_many(right))


def _one_too_many(right: Answer) -> Answer:
    result = str((int(right.result) + 1) % MODULUS)
    *before, last = right.steps
    return Answer((*before, f"{last.partition('=')[0]}={result}"), result)


def _slipped(asked: Chain, slip: int) -> Answer:
    value, steps = asked.start, []
    for place, (sign, number) in enumerate(asked.operations):
        plain = value + number if sign == "+" else value * number
        after = plain % (_WRONG if place == slip else MODULUS)
        steps.append(f"{value}{sign}{number}={after}")
        value = after
    return Answer(tuple(steps), str(value))
