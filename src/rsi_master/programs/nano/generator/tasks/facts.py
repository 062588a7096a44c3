"""Facts: two-hop look-ups in an invented world that is the same for everybody.

The world's single facts are no secret, the base has read them all; the two-hop question about a
person is what is partitioned, with the person as canonical key.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Problem
from rsi_master.programs.nano.partition import Split, split_of

HOME: Final = "home"
RELATIONS: Final = ("land", "river", "fruit", "ruler", "metal", "beast")
PEOPLE: Final = 300
TOWNS: Final = 24
VALUES: Final = 12

_WORLD_SEED: Final = int.from_bytes(hashlib.sha256(b"nano world 1").digest()[:8])
_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"


@dataclass(frozen=True, slots=True)
class World:
    """Who lives where, and what each town has: `towns[name]` follows the order of `RELATIONS`."""

    homes: dict[str, str]
    towns: dict[str, tuple[str, ...]]


def home_fact(person: str, town: str) -> str:
    """Return the first hop as the world states it."""
    return f"{person} {HOME} {town}"


def town_fact(relation: str, town: str, value: str) -> str:
    """Return the second hop as the world states it."""
    return f"{town} {relation} {value}"


@cache
def world() -> World:
    """Return the fixed public world; all its names differ."""
    rng = Random(_WORLD_SEED)
    taken: set[str] = set()
    people = _names(rng, PEOPLE, 3, taken)
    towns = _names(rng, TOWNS, 2, taken)
    values = [_names(rng, VALUES, 2, taken) for _ in RELATIONS]
    homes = {person: rng.choice(towns) for person in people}
    return World(homes, {town: tuple(rng.choice(names) for names in values) for town in towns})


def generate(rng: Random, split: Split) -> Problem:
    """Return a question about the home town of a person of `split`."""
    person = rng.choice(_people(split))
    index = rng.randrange(len(RELATIONS))
    town = world().homes[person]
    relation, value = RELATIONS[index], world().towns[town][index]
    steps = (home_fact(person, town), town_fact(relation, town, value))
    return Problem("facts", person, f"{person} {HOME} {relation}", steps, value)


@cache
def _people(split: Split) -> tuple[str, ...]:
    return tuple(person for person in world().homes if split_of("facts", person) == split)


def _names(rng: Random, count: int, syllables: int, taken: set[str]) -> list[str]:
    """Draw `count` new names and add them to `taken`."""
    names: list[str] = []
    while len(names) < count:
        name = "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(syllables))
        if name not in taken:
            taken.add(name)
            names.append(name)
    return names
