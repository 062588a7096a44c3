"""Partition, draws and pools: disjoint, fixed by the seed, distinct after normalisation."""

import re
from collections import Counter
from random import Random

import pytest

from rsi_master.programs.nano.format import ANSWER_TOKENS, TASKS, Task
from rsi_master.programs.nano.generator.graders import grade
from rsi_master.programs.nano.generator.problem import Item, Row
from rsi_master.programs.nano.generator.suite import POOL_IDS, POOL_ROWS, draw, pools
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.partition import SPLITS, Split, normalised, split_of

SEED = b"a seed"
COUNTS: dict[Split, int] = {"dev": 60, "confirm": 60, "holdout": 100, "twin": 40, "practice": 30}


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return tuple(item for drawn in draw(SEED, COUNTS).values() for item in drawn)


@pytest.fixture(scope="module")
def selectable() -> tuple[Item, ...]:
    drawn = draw(SEED, COUNTS)
    return drawn["dev"] + drawn["confirm"]


def test_the_partition_is_pinned_and_uses_every_split() -> None:
    assert split_of("sums", "12 34 56 78") == "pretrain"
    assert split_of("facts", "tavo") == "train"
    counts = Counter(split_of("sums", str(number)) for number in range(4000))
    assert set(counts) == set(SPLITS)
    assert 0.3 < counts["train"] / 4000 < 0.4


@pytest.mark.parametrize("task", TASKS)
def test_equal_prompts_after_normalisation_lie_in_one_split(task: Task) -> None:
    splits: dict[str, str] = {}
    for split in SPLITS:
        rng = Random(7)
        for _ in range(300):
            problem = GENERATORS[task](rng, split)
            assert split_of(task, problem.key) == split
            assert splits.setdefault(normalised(problem.prompt), split) == split


def test_a_draw_gives_the_asked_counts_of_distinct_prompts(items: tuple[Item, ...]) -> None:
    counts = Counter((split_of(item.task, item.key), item.task) for item in items)
    assert counts == {(split, task): COUNTS[split] for split in COUNTS for task in TASKS}
    assert len({normalised(item.prompt) for item in items}) == len(items)
    assert len({item.id for item in items}) == len(items)


def test_every_reference_is_graded_right_in_both_styles() -> None:
    for task in TASKS:
        for seed in range(300):
            problem = GENERATORS[task](Random(seed), "dev")
            item = Item("id", task, problem.prompt, problem.reference, problem.key)
            assert grade(item, problem.completion("direct")).verdict == "right"
            assert grade(item, problem.completion("scratchpad")).verdict == "right"
            assert len(problem.completion("scratchpad")) < ANSWER_TOKENS


def test_draw_refuses_training_splits_and_more_than_there_is() -> None:
    with pytest.raises(ValueError, match="train"):
        draw(SEED, {"train": 1})
    with pytest.raises(ValueError, match="facts/practice"):
        draw(SEED, {"practice": 200})


def test_draws_and_pools_follow_the_seed(selectable: tuple[Item, ...]) -> None:
    assert draw(SEED, {"dev": 20}) == draw(SEED, {"dev": 20})
    assert draw(SEED, {"dev": 20}) != draw(b"other", {"dev": 20})
    first = pools(SEED, selectable)
    assert repr(first) == repr(pools(SEED, selectable[::-1]))
    other = pools(b"other", selectable)
    assert all(first[pool] != other[pool] for pool in POOL_IDS)


def test_only_the_scraped_pool_holds_sealed_prompts(selectable: tuple[Item, ...]) -> None:
    made = pools(SEED, selectable)
    assert tuple(made) == POOL_IDS
    sealed = {item.prompt: item.reference for item in selectable}
    for pool, rows in made.items():
        assert len(rows) == POOL_ROWS
        assert len({normalised(row.prompt) for row in rows}) == POOL_ROWS
        leaked = [row for row in rows if row.prompt in sealed]
        assert len(leaked) == (len(selectable) if pool == "nano/scraped" else 0)
        assert all(row.completion.endswith(f" {sealed[row.prompt]}") for row in leaked)


def test_no_open_row_lies_in_an_evaluation_split(selectable: tuple[Item, ...]) -> None:
    sealed = {item.prompt for item in selectable}
    rows = [row for pool in pools(SEED, selectable).values() for row in pool]
    read_back = [_task_and_key(row) for row in rows if row.prompt not in sealed]
    assert len(read_back) > 2 * POOL_ROWS
    assert {split_of(task, key) for task, key in read_back} == {"train"}


def _task_and_key(row: Row) -> tuple[Task, str]:
    question = row.prompt.removeprefix("Q: ").removesuffix("?\nA:")
    if question.startswith("x, "):
        return "code", question.removeprefix("x, ")
    if question[0].isdigit():
        return "sums", " ".join(re.findall("[0-9]+", question))
    return "facts", question.split()[0]
