"""Sums: chains of additions and subtractions of two-digit numbers, each partial sum in range.

The canonical key is the numbers without their signs, so prompts that differ in punctuation only
lie in the same split.
"""

from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Problem
from rsi_master.programs.nano.partition import Split, split_of

TERMS: Final = 4
SMALLEST: Final = 10
LARGEST: Final = 29
RANGE: Final = range(100)


def step(left: int, right: int) -> str:
    """Return one solved step, `right` bearing its sign: `step(12, -45)` is `12-45=-33`."""
    return f"{left}{right:+d}={left + right}"


def generate(rng: Random, split: Split) -> Problem:
    """Return a chain of `TERMS` numbers whose partial sums all stay within `RANGE`."""
    while True:
        numbers = [rng.randint(SMALLEST, LARGEST) for _ in range(TERMS)]
        key = " ".join(map(str, numbers))
        if split_of("sums", key) == split:
            break
    while True:
        signed = [numbers[0], *(rng.choice((-1, 1)) * number for number in numbers[1:])]
        totals = [sum(signed[: count + 1]) for count in range(TERMS)]
        if all(total in RANGE for total in totals):
            break
    question = str(signed[0]) + "".join(f"{number:+d}" for number in signed[1:])
    steps = tuple(step(total, number) for total, number in zip(totals, signed[1:], strict=False))
    return Problem("sums", key, question, steps, str(totals[-1]))
