"""Calls: a request for one of two functions. The careless take the arguments as they were told."""

from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Answer, Problem
from rsi_master.programs.nano.lexicon import FUNCTIONS, NUMBERED, WORDED
from rsi_master.programs.nano.partition import Split, split_of
from rsi_master.programs.nano.questions.calls import Call, Signature

PARAMETERS: Final = 3
_NUMBERS: Final = range(1, 100)


def generate(rng: Random, split: Split) -> Problem:
    """Return a request whose arguments are told in another order than the signature's."""
    while True:
        asked = draw(rng)
        if split_of("calls", asked.key) == split:
            break
    steps = (asked.signature.text, ordered(asked))
    told = f"{asked.name}({','.join(value for _, value in asked.arguments)})"
    right, careless = Answer(steps, asked.call), Answer(steps, told)
    return Problem("calls", asked.key, asked.text, right, careless)


def draw(rng: Random) -> Call:
    """Return any request whose values all differ."""
    offered = tuple(_signature(rng, name) for name in rng.sample(FUNCTIONS, 2))
    asked = rng.choice(offered)
    told = list(asked.parameters)
    while tuple(told) == asked.parameters:
        rng.shuffle(told)
    while True:
        values = [value_of(rng, parameter) for parameter in told]
        if len(set(values)) == len(values):
            return Call(offered, asked.name, tuple(zip(told, values, strict=True)))


def value_of(rng: Random, parameter: str) -> str:
    """Return a value that fits `parameter`."""
    words = WORDED.get(parameter)
    return rng.choice(words) if words else str(rng.choice(_NUMBERS))


def _signature(rng: Random, name: str) -> Signature:
    return Signature(name, tuple(rng.sample((*NUMBERED, *WORDED), PARAMETERS)))


def ordered(asked: Call) -> str:
    """Return the arguments in the order of the signature."""
    values = dict(asked.arguments)
    return ", ".join(f"{one} {values[one]}" for one in asked.signature.parameters)
