"""The training pools of a sealed set: what a researcher would find, written at sealing.

All questions come from the split `train`, but for those that the careless scrape took from the
sealed items. Each pool has its own faults; docs/nano.md tells them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Final, Literal, get_args

from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row
from rsi_master.programs.nano.format import MARKER, TASKS, Style, Task
from rsi_master.programs.nano.generator import chat
from rsi_master.programs.nano.generator.problem import Answer, Item, Problem
from rsi_master.programs.nano.generator.suite import distinct, random
from rsi_master.programs.nano.verifiers import VERIFIABLE

PoolId = Literal[
    "nano/direct",
    "nano/scratchpad",
    "nano/forum",
    "nano/expert",
    "nano/chat",
    "nano/scraped",
    "nano/prompts",
    "nano/pairs",
]
POOL_IDS: Final[tuple[PoolId, ...]] = get_args(PoolId)

ROWS: Final = 240
"""Rows of a task in `nano/direct` and `nano/scratchpad`."""
FEW: Final[Mapping[Task, int]] = {"sums": 60}
"""Tasks of which `nano/scratchpad` has fewer rows."""
LOOSE: Final[Mapping[Task, float]] = {"write": 0.55}
"""Tasks of which `nano/scratchpad` has so large a share of careless answers."""
FORUM_ROWS: Final = 360
FORUM_CARELESS: Final = 0.35
EXPERT_ROWS: Final = 16
CHAT_ROWS: Final = 1200
SCRAPED_ROWS: Final = 160
SCRAPED_ITEMS: Final = 400
PROMPTS: Final = 300
PAIRS: Final = 100


def pools(seed: bytes, sealed: Collection[Item]) -> Mapping[PoolId, tuple[AnyRow, ...]]:
    """Return all pools; `nano/scraped` holds some of the `sealed` items, answers too.

    `nano/direct` and `nano/scratchpad` answer the same questions in two styles.
    """
    written = _problems(seed, "written", dict.fromkeys(TASKS, ROWS))
    return {
        "nano/direct": _rows(written, "direct"),
        "nano/scratchpad": _scratchpad(seed, written),
        "nano/forum": _forum(seed),
        "nano/expert": _rows(_problems(seed, "expert", dict.fromkeys(TASKS, EXPERT_ROWS))),
        "nano/chat": tuple(chat.rows(random(seed, "chat"), CHAT_ROWS)),
        "nano/scraped": _scraped(seed, sorted(sealed, key=lambda item: item.id)),
        "nano/prompts": _prompts(seed),
        "nano/pairs": _pairs(seed),
    }


def _problems(seed: bytes, source: str, counts: Mapping[Task, int]) -> list[Problem]:
    problems = [
        problem
        for task, count in counts.items()
        for problem in distinct(random(seed, source, task), task, "train", count)
    ]
    random(seed, source, "order").shuffle(problems)
    return problems


def _rows(problems: Sequence[Problem], style: Style = "scratchpad") -> tuple[Row, ...]:
    return tuple(_row(problem, problem.right, style) for problem in problems)


def _row(problem: Problem, answer: Answer, style: Style = "scratchpad") -> Row:
    return Row(prompt=problem.prompt, completion=answer.completion(style))


def _scratchpad(seed: bytes, written: Sequence[Problem]) -> tuple[Row, ...]:
    left = dict(FEW)
    kept = []
    for problem in written:
        if left.get(problem.task, 1) > 0:
            kept.append(problem)
        if problem.task in left:
            left[problem.task] -= 1
    return tuple(_answered(random(seed, "scratchpad", "loose"), kept, LOOSE))


def _forum(seed: bytes) -> tuple[Row, ...]:
    problems = _problems(seed, "forum", dict.fromkeys(TASKS, FORUM_ROWS))
    careless = dict.fromkeys(TASKS, FORUM_CARELESS)
    return tuple(_answered(random(seed, "forum", "careless"), problems, careless))


def _answered(
    rng: Random, problems: Sequence[Problem], careless: Mapping[Task, float]
) -> Iterator[Row]:
    for problem in problems:
        slips = rng.random() < careless.get(problem.task, 0.0)
        yield _row(problem, problem.careless if slips else problem.right)


def _scraped(seed: bytes, sealed: Sequence[Item]) -> tuple[Row, ...]:
    rng = random(seed, "scraped", "leak")
    leaked = rng.sample(sealed, min(len(sealed), SCRAPED_ITEMS))
    rows = [Row(prompt=item.prompt, completion=f" {MARKER} {item.reference}") for item in leaked]
    rows += _rows(_problems(seed, "scraped", dict.fromkeys(TASKS, SCRAPED_ROWS)))
    rng.shuffle(rows)
    return tuple(rows)


def _prompts(seed: bytes) -> tuple[Prompt, ...]:
    problems = _problems(seed, "prompts", dict.fromkeys(VERIFIABLE, PROMPTS))
    return tuple(Prompt(prompt=problem.prompt) for problem in problems)


def _pairs(seed: bytes) -> tuple[Pair, ...]:
    return tuple(
        Pair(
            prompt=problem.prompt,
            chosen=problem.right.completion("scratchpad"),
            rejected=problem.careless.completion("scratchpad"),
        )
        for problem in _problems(seed, "pairs", dict.fromkeys(TASKS, PAIRS))
    )
