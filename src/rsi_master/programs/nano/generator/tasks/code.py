"""Code: three operations as one expression. The careless swap two, or misread a number.

Every number matters: another digit in one place gives another function.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Answer, Problem
from rsi_master.programs.nano.partition import Split, split_of
from rsi_master.programs.nano.questions.code import (
    DIGITS,
    LENGTH,
    OPERATIONS,
    Operation,
    Program,
)

_BY_WORDS: Final = {operation.words: operation for operation in OPERATIONS}


def _effect(operation: Operation) -> Callable[[int], int]:
    """Return what an operation does; the tests hold it against the mini-language."""
    name, _, digit = operation.words.partition(" ")
    number = int(digit or 0)
    effects: dict[str, Callable[[int], int]] = {
        "double": lambda value: value * 2,
        "negate": lambda value: -value,
        "abs": abs,
        "add": lambda value: value + number,
        "sub": lambda value: value - number,
        "from": lambda value: number - value,
        "times": lambda value: value * number,
        "div": lambda value: value // number,
        "mod": lambda value: value % number,
        "most": lambda value: min(value, number),
        "least": lambda value: max(value, number),
    }
    return effects[name]


_EFFECTS: Final = {operation.words: _effect(operation) for operation in OPERATIONS}
INPUTS: Final = (-61, -17, -8, -3, -1, 0, 1, 2, 5, 7, 12, 33, 58, 90)
"""Where two programs that differ in one number differ; the grader runs them too."""


def generate(rng: Random, split: Split) -> Problem:
    """Return a program of `LENGTH` operations on x."""
    while True:
        asked = Program(tuple(rng.sample(OPERATIONS, LENGTH)))
        if split_of("code", asked.key) == split and _numbers_matter(asked):
            return Problem("code", asked.key, asked.text, _answer(asked), _careless(asked))


def _careless(asked: Program) -> Answer:
    """Return a program that does something else."""
    first, second, third = asked.operations
    others = (Program((first, third, second)), Program((second, first, third)), *neighbours(asked))
    values = _values(asked)
    return _answer(next(other for other in others if _values(other) != values))


def _answer(asked: Program) -> Answer:
    return Answer(asked.expressions[:-1], asked.expressions[-1])


def _numbers_matter(asked: Program) -> bool:
    """Tell whether there are numbers, and each of them changes the function."""
    values = _values(asked)
    return any(True for _ in neighbours(asked)) and all(
        _values(other) != values for other in neighbours(asked)
    )


def neighbours(asked: Program) -> Iterator[Program]:
    """Yield the programs that differ from `asked` in one number."""
    for place, operation in enumerate(asked.operations):
        for other in _other_digits(operation):
            yield Program((*asked.operations[:place], other, *asked.operations[place + 1 :]))


def _other_digits(operation: Operation) -> Iterator[Operation]:
    name, _, digit = operation.words.partition(" ")
    if digit:
        yield from (_BY_WORDS[f"{name} {other}"] for other in DIGITS if str(other) != digit)


def _values(asked: Program) -> list[int]:
    first, second, third = (_EFFECTS[operation.words] for operation in asked.operations)
    return [third(second(first(x))) for x in INPUTS]
