"""Partition and draws: fixed shares, enough prompts everywhere, distinct and fixed by the seed."""

from collections import Counter
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.programs.nano.format import TASKS, Task, prompt_of, question_of
from rsi_master.programs.nano.generator import suite
from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.generator.suite import distinct, draw
from rsi_master.programs.nano.generator.tasks.write import COUNTS as LENGTHS
from rsi_master.programs.nano.generator.world import HOME, PEOPLE, RELATIONS, world
from rsi_master.programs.nano.lexicon import THEMES
from rsi_master.programs.nano.partition import SPLITS, Split, normalised, split_of
from rsi_master.programs.nano.questions.write import Order

SEED = b"a seed"
COUNTS: dict[Split, int] = {"dev": 60, "confirm": 80, "holdout": 120, "twin": 120, "practice": 60}
SHARES: dict[Split, float] = {
    "pretrain": 0.20,
    "train": 0.35,
    "practice": 0.05,
    "dev": 0.10,
    "confirm": 0.10,
    "holdout": 0.10,
    "twin": 0.10,
}
MANY = 2000


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return tuple(item for drawn in draw(SEED, COUNTS).values() for item in drawn)


@pytest.mark.parametrize(
    ("task", "key", "split"),
    [
        ("sums", "12+34-56+78", "confirm"),
        ("chain", "7 1 2 3 4 5", "train"),
        ("facts", "tavo", "train"),
        ("calls", "dim hour=4 level=7 room=attic", "train"),
        ("code", "add 3, double, negate", "pretrain"),
        ("write", "lion bear wolf", "practice"),
        ("care", "ache burn cough", "train"),
    ],
)
def test_the_partition_is_pinned(task: Task, key: str, split: Split) -> None:
    assert split_of(task, key) == split


def test_every_split_has_its_share_of_the_keys() -> None:
    count = 20_000
    found = Counter(split_of("sums", str(number)) for number in range(count))
    assert set(found) == set(SHARES) == set(SPLITS)
    for split, share in SHARES.items():
        assert abs(found[split] / count - share) < 4 * (share * (1 - share) / count) ** 0.5


def test_the_same_key_of_two_tasks_is_placed_twice() -> None:
    pairs = Counter((split_of("sums", str(n)), split_of("chain", str(n))) for n in range(4000))
    assert set(pairs) == {(one, other) for one in SPLITS for other in SPLITS}


@given(st.text())
def test_normalisation_is_idempotent_and_blind_to_case_space_and_punctuation(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once
    assert normalised(f" {text}\n?!:,") == once
    assert all(char.isalnum() for char in once)


@given(st.text())
def test_a_question_comes_back_from_its_prompt_and_other_texts_are_none(text: str) -> None:
    assert question_of(prompt_of(text)) == text
    assert question_of(text) is None or prompt_of(question_of(text) or "") == text
    for near in (f"Q:{text}?\nA:", f"Q: {text}?\nA: ", f"q: {text}?\nA:", f"Q: {text}\nA:"):
        assert question_of(near) is None or near == prompt_of(question_of(near) or "")


@pytest.mark.parametrize("task", ["sums", "chain", "calls", "code", "care"])
def test_a_task_has_over_two_thousand_distinct_prompts(task: Task) -> None:
    found = list(distinct(Random(1), task, "train", MANY))
    assert len({normalised(problem.prompt) for problem in found}) == MANY
    assert {split_of(task, problem.key) for problem in found} == {"train"}


def test_facts_and_lists_have_over_two_thousand_distinct_prompts() -> None:
    """All prompts there are, counted."""
    facts = {
        normalised(prompt_of(f"{person} {HOME} {relation}"))
        for person in world().homes
        for relation in RELATIONS
    }
    assert len(facts) == PEOPLE * len(RELATIONS) == 3600
    lists = {
        normalised(prompt_of(Order(count, theme, *named).text))
        for count in LENGTHS
        for theme, words in THEMES.items()
        for named in permutations(words, 3)
    }
    assert len(lists) == 4 * 8 * 12 * 11 * 10


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("task", TASKS)
def test_every_split_of_every_task_holds_enough(task: Task, split: Split) -> None:
    wanted = max(COUNTS.values())
    found = list(distinct(Random(2), task, split, wanted))
    assert {split_of(task, problem.key) for problem in found} == {split}
    assert {problem.task for problem in found} == {task}
    assert len({normalised(problem.prompt) for problem in found}) == wanted


def test_facts_are_asked_about_enough_people_of_each_split() -> None:
    people = Counter(split_of("facts", person) for person in world().homes)
    assert min(people.values()) == people["practice"] > 20
    assert all(people[split] * len(RELATIONS) > 2 * COUNTS[split] for split in ("dev", "holdout"))
    assert people["confirm"] * len(RELATIONS) > 2 * COUNTS["confirm"]


def test_a_draw_gives_the_asked_counts_of_distinct_prompts(items: tuple[Item, ...]) -> None:
    counts = Counter((split_of(item.task, item.key), item.task) for item in items)
    assert counts == {(split, task): COUNTS[split] for split in COUNTS for task in TASKS}
    assert len({normalised(item.prompt) for item in items}) == len(items)
    assert len({item.id for item in items}) == len(items)


def test_a_draw_follows_its_seed_and_an_item_keeps_its_place_in_a_larger_one() -> None:
    first = draw(SEED, {"dev": 20})
    assert first == draw(SEED, {"dev": 20})
    other = draw(b"other", {"dev": 20})["dev"]
    assert {item.id for item in first["dev"]}.isdisjoint(item.id for item in other)
    assert {item.prompt for item in first["dev"]} != {item.prompt for item in other}
    larger = draw(SEED, {"dev": 30, "twin": 5})["dev"]
    assert set(first["dev"]) <= set(larger)


def test_a_draw_refuses_training_splits_and_more_than_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suite, "_PATIENCE", 20)
    for split in ("train", "pretrain"):
        with pytest.raises(ValueError, match=split):
            draw(SEED, {split: 1})
    with pytest.raises(ValueError, match=r"facts/practice has \d+ prompts of 200"):
        list(distinct(Random(1), "facts", "practice", 200))
