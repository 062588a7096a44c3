"""Care: a remedy for each of three complaints, one remedy to be avoided, graded by a rubric.

The careless ignore what is to be avoided, or treat one complaint as another. The canonical key is
the sorted complaints.
"""

from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Answer, Problem
from rsi_master.programs.nano.generator.world import world
from rsi_master.programs.nano.lexicon import REMEDIES, SYMPTOMS
from rsi_master.programs.nano.partition import Split, split_of
from rsi_master.programs.nano.reading import words_of

COMPLAINTS: Final = 3
_AVOIDING_FIRST: Final = 0.7


def generate(rng: Random, split: Split) -> Problem:
    """Return complaints whose remedies all differ."""
    while True:
        symptoms = rng.sample(SYMPTOMS, COMPLAINTS)
        avoid = _avoided(rng, symptoms)
        remedies = [remedy_for(symptom, avoid) for symptom in symptoms]
        key = " ".join(sorted(symptoms))
        if split_of("care", key) == split and len(set(remedies)) == COMPLAINTS:
            break
    question = f"ill with {', '.join(symptoms)}, avoid {avoid}"
    careless = _careless(rng, symptoms, avoid)
    return Problem("care", key, question, _answer(symptoms, remedies), careless)


def remedy_for(symptom: str, avoid: str) -> str:
    """Return the first remedy, or the second where the first is to be avoided."""
    first, second = world().remedies[symptom]
    return second if first == avoid else first


def credit(answer: str, reference: str) -> float:
    """Return the share of the wanted remedies that are named, less one for each other word."""
    wanted, named = set(reference.split()), words_of(answer)
    hits = len(wanted & set(named))
    return max(0.0, (hits - (len(named) - hits)) / len(wanted))


def _avoided(rng: Random, symptoms: list[str]) -> str:
    if rng.random() < _AVOIDING_FIRST:
        return world().remedies[rng.choice(symptoms)][0]
    return rng.choice(REMEDIES)


def _answer(symptoms: list[str], remedies: list[str]) -> Answer:
    steps = tuple(f"{one} {remedy}" for one, remedy in zip(symptoms, remedies, strict=True))
    return Answer(steps, " ".join(remedies))


def _careless(rng: Random, symptoms: list[str], avoid: str) -> Answer:
    remedies = [world().remedies[symptom][0] for symptom in symptoms]
    if avoid not in remedies:
        place = rng.randrange(COMPLAINTS)
        others = [remedy for remedy in REMEDIES if remedy not in remedies]
        remedies[place] = rng.choice(others)
    return _answer(symptoms, remedies)
