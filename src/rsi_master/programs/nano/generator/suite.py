"""Secret samples of the evaluation splits, fixed by a seed: distinct prompts of each task."""

import hashlib
from collections.abc import Iterator, Mapping
from random import Random
from typing import Final

from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.generator.problem import Item, Problem
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.partition import Split, normalised

EVALUATION_SPLITS: Final[frozenset[Split]] = frozenset(
    ("practice", "dev", "confirm", "holdout", "twin")
)

_PATIENCE: Final = 400


def draw(seed: bytes, counts: Mapping[Split, int]) -> Mapping[Split, tuple[Item, ...]]:
    """Return `counts[split]` items of each task, their prompts distinct after normalisation.

    Raises ValueError for a training split or for more prompts than the split holds.
    """
    closed = sorted(set(counts) - EVALUATION_SPLITS)
    if closed:
        raise ValueError(f"suite.draw: {closed} are training splits; ask for an evaluation split")
    return {
        split: tuple(
            _item(seed, split, problem)
            for task in TASKS
            for problem in distinct(random(seed, split, task), task, split, count)
        )
        for split, count in counts.items()
    }


def distinct(rng: Random, task: Task, split: Split, count: int) -> Iterator[Problem]:
    """Yield `count` problems whose normalised prompts differ; ValueError where there are fewer."""
    seen: set[str] = set()
    for _ in range(_PATIENCE * count):
        if len(seen) == count:
            return
        problem = GENERATORS[task](rng, split)
        name = normalised(problem.prompt)
        if name not in seen:
            seen.add(name)
            yield problem
    if len(seen) < count:
        raise ValueError(f"suite: {task}/{split} has {len(seen)} prompts of {count}; ask for fewer")


def random(seed: bytes, *path: str) -> Random:
    """Return the generator of random numbers for one purpose."""
    digest = hashlib.sha256(b"\0".join((seed, *(part.encode() for part in path)))).digest()
    return Random(int.from_bytes(digest))


def _item(seed: bytes, split: Split, problem: Problem) -> Item:
    secret = b"\0".join((seed, split.encode(), problem.task.encode(), problem.prompt.encode()))
    name = hashlib.sha256(secret).hexdigest()[:16]
    return Item(name, problem.task, problem.prompt, problem.right.result, problem.key)
