"""Writing: a list of words under constraints. The careless write one word too many or too few.

Any list that keeps to the constraints is right; those of the pools go on from the first word in the
order in which the theme's words are usually listed.
"""

from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Answer, Problem
from rsi_master.programs.nano.lexicon import THEMES
from rsi_master.programs.nano.partition import Split, split_of
from rsi_master.programs.nano.questions.write import Order

COUNTS: Final = range(3, 7)
_NEAR: Final = 0.7
"""How often the word that is left out is one of those that would come next."""


def generate(rng: Random, split: Split) -> Problem:
    """Return an order and a list that keeps to it."""
    while True:
        asked = _draw(rng)
        if split_of("write", asked.key) == split:
            break
    careless = _listed(asked, asked.count + rng.choice((-1, 1)))
    return Problem("write", asked.key, asked.text, _listed(asked, asked.count), careless)


def run_from(theme: str, first: str) -> tuple[str, ...]:
    """Return all words of a theme in their usual order, around from `first`."""
    words = THEMES[theme]
    start = words.index(first)
    return words[start:] + words[:start]


def _draw(rng: Random) -> Order:
    count, theme = rng.choice(COUNTS), rng.choice(tuple(THEMES))
    run = run_from(theme, rng.choice(THEMES[theme]))
    last = rng.choice(run[1:])
    near, far = (tuple(word for word in part if word != last) for part in (run[1:4], run[4:]))
    without = rng.choice(near if rng.random() < _NEAR else far)
    return Order(count, theme, run[0], last, without)


def _listed(asked: Order, count: int) -> Answer:
    run = run_from(asked.theme, asked.first)[1:]
    free = [word for word in run if word not in (asked.last, asked.without)]
    words = (asked.first, *free[: count - 2], asked.last)
    numbered = ", ".join(f"{place} {word}" for place, word in enumerate(words, start=1))
    return Answer((numbered,), " ".join(words))
