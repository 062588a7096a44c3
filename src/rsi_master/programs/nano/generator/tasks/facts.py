"""Facts: what the home town of a person has, in two hops. The careless take the wrong town.

The canonical key is the person.
"""

from functools import cache
from random import Random

from rsi_master.programs.nano.generator.problem import Answer, Problem
from rsi_master.programs.nano.generator.world import HOME, RELATIONS, home_fact, town_fact, world
from rsi_master.programs.nano.partition import Split, split_of


def generate(rng: Random, split: Split) -> Problem:
    """Return a question about the home town of a person of `split`."""
    person = rng.choice(_people(split))
    index = rng.randrange(len(RELATIONS))
    home = world().homes[person]
    towns = world().towns
    other = rng.choice([town for town in towns if towns[town][index] != towns[home][index]])
    question = f"{person} {HOME} {RELATIONS[index]}"
    right, careless = (_answer(person, town, index) for town in (home, other))
    return Problem("facts", person, question, right, careless)


def _answer(person: str, town: str, index: int) -> Answer:
    relation, value = RELATIONS[index], world().towns[town][index]
    return Answer((home_fact(person, town), town_fact(relation, town, value)), value)


@cache
def _people(split: Split) -> tuple[str, ...]:
    return tuple(person for person in world().homes if split_of("facts", person) == split)
