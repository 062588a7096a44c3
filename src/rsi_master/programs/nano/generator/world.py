"""The invented world: who lives where, what each town has, which remedies help against what.

It is the same for everybody and no secret, the base has read it; what is sealed are questions.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final

from rsi_master.programs.nano import lexicon
from rsi_master.programs.nano.lexicon import REMEDIES, SYLLABLES, SYMPTOMS, THEMES

HOME: Final = "home"
RELATIONS: Final = ("beast", "fruit", "metal", "tree", "tool", "bird")
PEOPLE: Final = 600
TOWNS: Final = 24

_SEED: Final = int.from_bytes(hashlib.sha256(b"nano world 2").digest()[:8])


@dataclass(frozen=True, slots=True)
class World:
    """`homes` of people; `towns[name]` follows `RELATIONS`; a first and a second remedy each."""

    homes: dict[str, str]
    towns: dict[str, tuple[str, ...]]
    remedies: dict[str, tuple[str, str]]


@cache
def world() -> World:
    """Return the fixed public world; its names differ from each other and from all words."""
    rng = Random(_SEED)
    taken = {word for group in THEMES.values() for word in group} | _words()
    people = _names(rng, PEOPLE, 3, taken)
    towns = _names(rng, TOWNS, 2, taken)
    homes = {person: rng.choice(towns) for person in people}
    has = {town: tuple(rng.choice(THEMES[relation]) for relation in RELATIONS) for town in towns}
    remedies = {symptom: _two(rng) for symptom in SYMPTOMS}
    return World(homes, has, remedies)


def home_fact(person: str, town: str) -> str:
    """Return the first hop as the world states it."""
    return f"{person} {HOME} {town}"


def town_fact(relation: str, town: str, value: str) -> str:
    """Return the second hop as the world states it."""
    return f"{town} {relation} {value}"


def _two(rng: Random) -> tuple[str, str]:
    first, second = rng.sample(REMEDIES, 2)
    return first, second


def _words() -> set[str]:
    groups = (lexicon.OWNERS, lexicon.THINGS, lexicon.FUNCTIONS, lexicon.NUMBERED)
    values = {value for group in lexicon.WORDED.values() for value in group}
    return {word for group in groups for word in group} | set(lexicon.WORDED) | values


def _names(rng: Random, count: int, syllables: int, taken: set[str]) -> list[str]:
    """Draw `count` new names and add them to `taken`."""
    names: list[str] = []
    while len(names) < count:
        name = "".join(rng.choice(SYLLABLES) for _ in range(syllables))
        if name not in taken:
            taken.add(name)
            names.append(name)
    return names
