"""Questions of each split and rows of the pools, drawn from reasoning-gym by a secret."""

import hmac
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import reasoning_gym

from rsi_master.core.artifact import Row
from rsi_master.core.score import Split
from rsi_master.programs.sealed.benchmark import Question
from rsi_master.programs.sealed.gym import format as text_format
from rsi_master.programs.sealed.gym.answers import extract
from rsi_master.programs.sealed.gym.format import TASKS, Task
from rsi_master.programs.sealed.gym.partition import Part, key, name_of, part_of
from rsi_master.programs.sealed.gym.worked import steps

SETTINGS: Final[Mapping[Task, Mapping[str, int]]] = {
    "chain_sum": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2},
    "products": {"min_terms": 2, "max_terms": 2, "min_digits": 1, "max_digits": 2},
    "gcd": {"min_numbers": 2, "max_numbers": 2, "min_value": 1, "max_value": 30},
    "lcm": {"min_numbers": 2, "max_numbers": 2, "min_value": 1, "max_value": 30},
}
# A pass over a pool takes two to three minutes of a busy CPU.
ROWS_OF_A_TASK: Final = 32
# Generated questions for each one that is wanted; one in ten lies in a given split.
_PATIENCE: Final = 400


@dataclass(frozen=True, slots=True)
class Problem:
    """A generated question in one line, the steps of its worked answer, its result."""

    task: Task
    question: str
    steps: str
    reference: str


def draw(secret: bytes, counts: Mapping[Split, int]) -> Mapping[Split, list[Question]]:
    """So many distinct questions of each task; raises ValueError where a split holds fewer."""
    return {
        split: [_question(found) for task in TASKS for found in _distinct(secret, task, split, n)]
        for split, n in counts.items()
    }


def pools(secret: bytes, drawn: Sequence[Question]) -> Mapping[str, list[Row]]:
    """The same questions of the part `train` answered in two styles, in one order.

    None of them holds a drawn question inside it, so that the scanner drops no row.
    """
    problems = [found for task in TASKS for found in _open(secret, task, drawn, ROWS_OF_A_TASK)]
    random.Random(_seed(secret, "order")).shuffle(problems)
    return {
        "reasoning-gym/direct": [_row(found, found.reference) for found in problems],
        "reasoning-gym/worked": [_row(found, found.steps) for found in problems],
    }


def practice(secret: bytes, drawn: Sequence[Question], count: int) -> list[Question]:
    """So many questions of each task that follow on those of the pools."""
    return [
        _question(found)
        for task in TASKS
        for found in [*_open(secret, task, drawn, ROWS_OF_A_TASK + count)][ROWS_OF_A_TASK:]
    ]


def _open(secret: bytes, task: Task, drawn: Sequence[Question], count: int) -> Iterator[Problem]:
    """The first problems outside the splits that hold no drawn question."""
    sealed = tuple(key(question.stem) for question in drawn)
    return _distinct(secret, task, "train", count, sealed)


def _distinct(
    secret: bytes, task: Task, part: Part, count: int, sealed: Sequence[str] = ()
) -> Iterator[Problem]:
    """`count` problems of that part whose questions differ in more than the order of words, and
    hold none of `sealed`."""
    seen: set[str] = set()
    for found in _generated(task, _seed(secret, f"{task}/{part}"), _PATIENCE * count):
        if len(seen) == count:
            return
        name, text = name_of(found.question), key(found.question)
        if part_of(found.question) != part or name in seen or any(s in text for s in sealed):
            continue
        seen.add(name)
        yield found
    if len(seen) < count:
        raise ValueError(f"{task}/{part} gave {len(seen)} questions of {count}; ask for fewer")


def _row(found: Problem, answer: str) -> Row:
    return Row(prompt=text_format.prompt(found.question), completion=text_format.completion(answer))


def _generated(task: Task, seed: int, size: int) -> Iterator[Problem]:
    """Problems of reasoning-gym; raises ValueError where worked steps do not give its answer."""
    for entry in reasoning_gym.create_dataset(task, seed=seed, size=size, **SETTINGS[task]):
        found = Problem(
            task=task,
            question=" ".join(entry["question"].split()),
            steps=steps(task, entry["metadata"]),
            reference=entry["answer"],
        )
        if extract(found.steps) != found.reference:
            raise ValueError(f"{task}: {found.steps!r} does not give {found.reference}")
        yield found


def _question(found: Problem) -> Question:
    return Question(
        task=found.task,
        prompt=text_format.prompt(found.question),
        stem=found.question,
        reference=found.reference,
    )


def _seed(secret: bytes, purpose: str) -> int:
    """Of 31 bits, as numpy-based generators want it."""
    return int.from_bytes(hmac.digest(secret, purpose.encode(), "sha256")[:4]) >> 1
