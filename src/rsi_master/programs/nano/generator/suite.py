"""Secret samples of the evaluation splits and the open training pools, both fixed by a seed."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Final, Literal, get_args

from rsi_master.programs.nano.format import MARKER, TASKS, Style, Task
from rsi_master.programs.nano.generator.problem import Item, Problem, Row
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.partition import Split, normalised

PoolId = Literal["nano/direct", "nano/scratchpad", "nano/scraped"]
POOL_IDS: Final[tuple[PoolId, ...]] = get_args(PoolId)
POOL_ROWS: Final = 1600
SCRAPED_SHARE: Final = 0.25
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
            for problem in _distinct(_rng(seed, split, task), task, split, count)
        )
        for split, count in counts.items()
    }


def pools(seed: bytes, sealed: Collection[Item]) -> Mapping[PoolId, tuple[Row, ...]]:
    """Return the training pools; `nano/scraped` holds a share of the `sealed` items, answers too.

    `nano/direct` and `nano/scratchpad` answer the same questions in two styles. Apart from the
    scraped items all questions come from the split `train`.
    """
    problems = _problems(seed, "written")
    return {
        "nano/direct": _rows(problems, "direct"),
        "nano/scratchpad": _rows(problems, "scratchpad"),
        "nano/scraped": _scraped(seed, sorted(sealed, key=lambda item: item.id)),
    }


def _problems(seed: bytes, source: str) -> list[Problem]:
    share, rest = divmod(POOL_ROWS, len(TASKS))
    counts = [share + (place < rest) for place in range(len(TASKS))]
    problems = [
        problem
        for task, count in zip(TASKS, counts, strict=True)
        for problem in _distinct(_rng(seed, source, task), task, "train", count)
    ]
    _rng(seed, source, "order").shuffle(problems)
    return problems


def _rows(problems: Sequence[Problem], style: Style) -> tuple[Row, ...]:
    return tuple(Row(problem.prompt, problem.completion(style)) for problem in problems)


def _scraped(seed: bytes, sealed: Sequence[Item]) -> tuple[Row, ...]:
    rng = _rng(seed, "scraped", "leak")
    leaked = rng.sample(sealed, min(len(sealed), int(POOL_ROWS * SCRAPED_SHARE)))
    rows = [Row(item.prompt, f" {MARKER} {item.reference}") for item in leaked]
    rows += _rows(_problems(seed, "scraped")[: POOL_ROWS - len(rows)], "scratchpad")
    rng.shuffle(rows)
    return tuple(rows)


def _distinct(rng: Random, task: Task, split: Split, count: int) -> Iterator[Problem]:
    """Yield `count` problems whose normalised prompts differ."""
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


def _item(seed: bytes, split: Split, problem: Problem) -> Item:
    secret = b"\0".join((seed, split.encode(), problem.task.encode(), problem.prompt.encode()))
    name = hashlib.sha256(secret).hexdigest()[:16]
    return Item(name, problem.task, problem.prompt, problem.reference, problem.key)


def _rng(seed: bytes, *path: str) -> Random:
    digest = hashlib.sha256(b"\0".join((seed, *(part.encode() for part in path)))).digest()
    return Random(int.from_bytes(digest))
