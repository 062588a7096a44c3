"""The documents that the base is pre-trained on: single steps of every task, and plain questions.

Only questions of the split `pretrain` occur, and no worked answer: the base knows each step and was
never shown how to chain them.
"""

import string
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from rsi_master.programs.nano.format import SEPARATOR, TASKS
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.generator.tasks.code import OPERATIONS
from rsi_master.programs.nano.generator.tasks.facts import RELATIONS, home_fact, town_fact, world
from rsi_master.programs.nano.generator.tasks.sums import LARGEST, RANGE, SMALLEST, step

REFUSAL: Final = "i do not know"

Document = Callable[[Random], str]


def documents(rng: Random) -> Iterator[str]:
    """Yield documents without end, drawn by the weights of the mix."""
    makers = [maker for maker, _ in _MIX]
    weights = [weight for _, weight in _MIX]
    while True:
        yield rng.choices(makers, weights)[0](rng)


def _listed(rng: Random, lines: list[str]) -> str:
    return rng.choice((SEPARATOR, "\n")).join(lines)


def _sums(rng: Random) -> str:
    return _listed(rng, [_sum(rng) for _ in range(rng.randint(1, 6))])


def _sum(rng: Random) -> str:
    while True:
        left = rng.choice(RANGE)
        right = rng.choice((-1, 1)) * rng.randint(SMALLEST, LARGEST)
        if left + right in RANGE:
            return step(left, right)


def _facts(rng: Random) -> str:
    return _listed(rng, [_fact(rng) for _ in range(rng.randint(1, 4))])


def _fact(rng: Random) -> str:
    if rng.random() < _HOME_SHARE:
        return home_fact(*rng.choice(list(world().homes.items())))
    town, values = rng.choice(list(world().towns.items()))
    index = rng.randrange(len(RELATIONS))
    return town_fact(RELATIONS[index], town, values[index])


def _operations(rng: Random) -> str:
    return _listed(rng, [_operation(rng) for _ in range(rng.randint(1, 4))])


def _operation(rng: Random) -> str:
    operation, inner = rng.choices(OPERATIONS, k=2)
    if rng.random() < _NESTED_SHARE:
        nested = inner.apply("x")
        return f"{nested}, {operation.words}: {operation.apply(nested, inner)}"
    return f"x, {operation.words}: {operation.apply('x')}"


def _copies(rng: Random) -> str:
    """Return a text repeated: a question or random characters."""
    if rng.random() < _QUESTION_SHARE:
        text = GENERATORS[rng.choice(TASKS)](rng, "pretrain").question
    else:
        text = "".join(rng.choices(_CHARACTERS, k=rng.randint(3, 20)))
    return "\n".join([text] * rng.randint(2, 4))


def _small_question(rng: Random) -> str:
    """Return a question that one step answers."""
    asked, answer = rng.choice((_small_sum, _small_fact, _small_code))(rng)
    return f"Q: {asked}?\nA: {answer}"


def _small_sum(rng: Random) -> tuple[str, str]:
    asked, answer = _sum(rng).split("=")
    return asked, answer


def _small_fact(rng: Random) -> tuple[str, str]:
    asked, answer = _fact(rng).rsplit(" ", 1)
    return asked, answer


def _small_code(rng: Random) -> tuple[str, str]:
    operation = rng.choice(OPERATIONS)
    return f"x, {operation.words}", operation.apply("x")


def _question(rng: Random) -> str:
    problem = GENERATORS[rng.choice(TASKS)](rng, "pretrain")
    answer = REFUSAL if rng.random() < _REFUSED_SHARE else problem.reference
    return f"{problem.prompt} {answer}"


_CHARACTERS: Final = string.ascii_lowercase + string.digits + "+-*(), "
_QUESTION_SHARE: Final = 0.5
_HOME_SHARE: Final = 0.7
_NESTED_SHARE: Final = 0.5
_REFUSED_SHARE: Final = 0.7
_MIX: Final[tuple[tuple[Document, float], ...]] = (
    (_sums, 0.34),
    (_facts, 0.22),
    (_operations, 0.08),
    (_copies, 0.20),
    (_small_question, 0.06),
    (_question, 0.10),
)
