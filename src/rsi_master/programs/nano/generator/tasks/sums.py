"""Sums: stories of gains and losses. The careless forget to carry once."""

from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Answer, Problem
from rsi_master.programs.nano.lexicon import GAINS, LOSSES, OWNERS, THINGS
from rsi_master.programs.nano.partition import Split, split_of
from rsi_master.programs.nano.questions.sums import Sum

CHANGES: Final = 3
SMALLEST: Final = 10
LARGEST: Final = 29
RANGE: Final = range(100)


def step(left: int, right: int) -> str:
    """Return one solved step, `right` bearing its sign: `step(12, -45)` is `12-45=-33`."""
    return f"{left}{right:+d}={left + right}"


def generate(rng: Random, split: Split) -> Problem:
    """Return a story of `CHANGES` changes whose stock stays within `RANGE`."""
    while True:
        asked = _draw(rng)
        if split_of("sums", asked.key) == split and all(total in RANGE for total in _totals(asked)):
            return Problem("sums", asked.key, asked.text, _worked(asked), _careless(rng, asked))


def _draw(rng: Random) -> Sum:
    numbers = [rng.randint(SMALLEST, LARGEST) for _ in range(CHANGES)]
    changes = tuple((rng.choice(GAINS + LOSSES), number) for number in numbers)
    return Sum(rng.choice(OWNERS), rng.choice(THINGS), rng.randint(SMALLEST, LARGEST), changes)


def _totals(asked: Sum) -> list[int]:
    return [asked.start + sum(asked.signed[:count]) for count in range(CHANGES + 1)]


def _worked(asked: Sum, slip: int | None = None, error: int = 0) -> Answer:
    """Return the steps; the result of step `slip` is off by `error`, and carried on."""
    total, steps = asked.start, []
    for place, change in enumerate(asked.signed):
        after = total + change + (error if place == slip else 0)
        steps.append(f"{total}{change:+d}={after}")
        total = after
    return Answer(tuple(steps), str(total))


def _careless(rng: Random, asked: Sum) -> Answer:
    return _worked(asked, rng.randrange(CHANGES), rng.choice((-10, 10)))
