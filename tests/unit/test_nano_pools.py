"""The pools: their sizes, what is in them, their faults in the stated shares, and their length."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from tokenizers import Tokenizer

from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row, RowKind, kind_of
from rsi_master.programs.nano import tokenizer as pieces
from rsi_master.programs.nano.format import ANSWER_TOKENS, MARKER, SEPARATOR, TASKS, Task
from rsi_master.programs.nano.generator.graders import grade
from rsi_master.programs.nano.generator.pools import POOL_IDS, PoolId, pools
from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.generator.suite import draw
from rsi_master.programs.nano.partition import Split, normalised, split_of
from rsi_master.programs.nano.verifiers import VERIFIABLE, points, read

SEED = b"a seed"
SEALED: dict[Split, int] = {"dev": 40, "confirm": 50, "holdout": 40, "twin": 40}
LEAKED = 400
SIZES: dict[PoolId, int] = {
    "nano/direct": 1680,
    "nano/scratchpad": 1500,
    "nano/forum": 2520,
    "nano/expert": 112,
    "nano/chat": 1200,
    "nano/scraped": 1120 + LEAKED,
    "nano/prompts": 1500,
    "nano/pairs": 700,
}
KINDS: dict[PoolId, RowKind] = {
    **dict.fromkeys(POOL_IDS, "rows"),
    "nano/prompts": "prompts",
    "nano/pairs": "pairs",
}
TASK_OF: dict[str, Task] = {" home ": "facts", "ill with ": "care"}
CARELESS = 0.35
LOOSE = 0.55
LENIENT = 0.05
"""At most this share of careless programs looks right to the open verifier: of many, 0.016 do."""


@pytest.fixture(scope="module")
def items() -> tuple[Item, ...]:
    return tuple(item for drawn in draw(SEED, SEALED).values() for item in drawn)


@pytest.fixture(scope="module")
def leaked(items: tuple[Item, ...]) -> tuple[Item, ...]:
    return tuple(i for i in items if split_of(i.task, i.key) in ("dev", "confirm"))


@pytest.fixture(scope="module")
def made(leaked: tuple[Item, ...]) -> Mapping[PoolId, tuple[AnyRow, ...]]:
    return pools(SEED, leaked)


def test_the_pools_have_their_names_kinds_and_sizes(
    made: Mapping[PoolId, tuple[AnyRow, ...]],
) -> None:
    assert tuple(made) == POOL_IDS
    assert {pool: len(rows) for pool, rows in made.items()} == SIZES
    assert {pool: kind_of(pool, rows) for pool, rows in made.items()} == KINDS


def test_prompts_are_distinct_within_a_pool(made: Mapping[PoolId, tuple[AnyRow, ...]]) -> None:
    for pool, rows in made.items():
        assert len({normalised(row.prompt) for row in rows}) == len(rows), pool


def test_the_seed_fixes_the_pools_and_the_order_of_the_items_does_not(
    leaked: tuple[Item, ...], made: Mapping[PoolId, tuple[AnyRow, ...]]
) -> None:
    assert pools(SEED, leaked[::-1]) == made
    other = pools(b"other", leaked[:30])
    assert {item.prompt for item in leaked[:30]} <= {row.prompt for row in other["nano/scraped"]}
    assert len(other["nano/scraped"]) == SIZES["nano/scraped"] - LEAKED + 30
    for pool in POOL_IDS:
        known = {row.prompt for row in made[pool]}
        fresh = [row for row in other[pool] if row.prompt not in known]
        assert len(fresh) > 0.2 * len(other[pool]), pool


def test_tasks_have_equal_parts_but_for_few_sums_in_scratchpad(
    made: Mapping[PoolId, tuple[AnyRow, ...]],
) -> None:
    equal = {"nano/direct": 240, "nano/forum": 360, "nano/expert": 16, "nano/pairs": 100}
    for pool, count in equal.items():
        rows = next(rows for name, rows in made.items() if name == pool)
        assert Counter(map(_task, rows)) == dict.fromkeys(TASKS, count)
    few = Counter(map(_task, made["nano/scratchpad"]))
    assert few == {**dict.fromkeys(TASKS, 240), "sums": 60}
    assert Counter(map(_task, made["nano/prompts"])) == dict.fromkeys(VERIFIABLE, 300)


def test_rows_are_mixed_over_the_tasks(made: Mapping[PoolId, tuple[AnyRow, ...]]) -> None:
    for pool in ("nano/direct", "nano/forum", "nano/prompts", "nano/pairs"):
        rows = made[pool]
        assert len({_task(row) for row in rows[:60]}) == len({_task(row) for row in rows}), pool


def test_direct_and_scratchpad_answer_the_same_questions_in_two_styles(
    made: Mapping[PoolId, tuple[AnyRow, ...]],
) -> None:
    direct = {row.prompt: row.answers()[0] for row in made["nano/direct"]}
    assert not any(MARKER in answer for answer in direct.values())
    for row in made["nano/scratchpad"]:
        steps, _, result = row.answers()[0].rpartition(f"{SEPARATOR}{MARKER} ")
        assert steps
        assert _task(row) == "write" or direct[row.prompt] == f" {result}"
    assert {row.prompt for row in made["nano/scratchpad"]} < set(direct)


@pytest.mark.parametrize("pool", ["nano/direct", "nano/expert", "nano/scratchpad"])
def test_careful_pools_are_right(made: Mapping[PoolId, tuple[AnyRow, ...]], pool: PoolId) -> None:
    loose = {"write"} if pool == "nano/scratchpad" else set()
    for row in made[pool]:
        if _task(row) not in loose:
            assert points(row.prompt, row.answers()[0]) in (1.0, None)


def test_over_half_of_the_lists_in_scratchpad_are_careless(
    made: Mapping[PoolId, tuple[AnyRow, ...]],
) -> None:
    lists = [row for row in made["nano/scratchpad"] if _task(row) == "write"]
    wrong = sum(points(row.prompt, row.answers()[0]) == 0.0 for row in lists)
    assert _within(wrong, len(lists), LOOSE)


def test_a_third_of_the_forum_is_careless(made: Mapping[PoolId, tuple[AnyRow, ...]]) -> None:
    """Careless programs always differ, if not always where the open verifier looks."""
    rows = [row for row in made["nano/forum"] if _task(row) in _ALWAYS_SEEN]
    wrong = sum(points(row.prompt, row.answers()[0]) == 0.0 for row in rows)
    assert _within(wrong, len(rows), CARELESS)
    programs = [row for row in made["nano/forum"] if _task(row) == "code"]
    missed = sum(points(row.prompt, row.answers()[0]) == 0.0 for row in programs)
    assert _within(missed, len(programs), CARELESS)


def test_the_prompts_pool_asks_for_what_can_be_verified(
    made: Mapping[PoolId, tuple[AnyRow, ...]],
) -> None:
    for row in made["nano/prompts"]:
        assert isinstance(row, Prompt)
        assert points(row.prompt, "") == 0.0


def test_of_a_pair_the_chosen_answer_is_right_and_the_rejected_another(
    made: Mapping[PoolId, tuple[AnyRow, ...]],
) -> None:
    """Rejected programs are other functions, if not always where the open verifier looks."""
    lenient = 0
    for row in made["nano/pairs"]:
        assert isinstance(row, Pair)
        assert points(row.prompt, row.chosen) in (1.0, None)
        assert f"{SEPARATOR}{MARKER} " in row.chosen
        assert f"{SEPARATOR}{MARKER} " in row.rejected
        lenient += _task(row) == "code" and points(row.prompt, row.rejected) == 1.0
        if _task(row) in _ALWAYS_SEEN:
            assert points(row.prompt, row.rejected) == 0.0
        if _task(row) in ("facts", "care"):
            assert _graded(row.prompt, row.chosen, row.rejected) < 1.0
        result, slipped = (text.rpartition(MARKER)[2] for text in (row.chosen, row.rejected))
        assert result != slipped
    assert lenient <= LENIENT * 100


def test_the_scrape_holds_sealed_items_with_their_answers(
    leaked: tuple[Item, ...], made: Mapping[PoolId, tuple[AnyRow, ...]]
) -> None:
    sealed = {item.prompt: item.reference for item in leaked}
    taken = [row for row in made["nano/scraped"] if row.prompt in sealed]
    assert len(taken) == LEAKED < len(leaked)
    for row in taken:
        assert row.answers() == (f" {MARKER} {sealed[row.prompt]}",)
    assert Counter(map(_task, taken)).keys() == set(TASKS)


def test_chat_is_off_topic(made: Mapping[PoolId, tuple[AnyRow, ...]]) -> None:
    for row in made["nano/chat"]:
        assert isinstance(row, Row)
        assert read(row.prompt) is None
        assert not any(word in row.prompt for word in TASK_OF)
        assert row.prompt.startswith("Q: ")
        assert row.completion.startswith(" ")


def test_rows_of_all_pools_fit_the_answer_limit_and_the_context(
    made: Mapping[PoolId, tuple[AnyRow, ...]],
) -> None:
    tokenizer = pieces.build()
    longest = 0
    for rows in made.values():
        answers = [answer for row in rows for answer in (row.answers() or ("",))]
        whole = [row.prompt + answer for row in rows for answer in (row.answers() or ("",))]
        longest = max(longest, *_lengths(tokenizer, answers))
        assert max(_lengths(tokenizer, whole)) < pieces.CONTEXT
    assert 30 < longest < ANSWER_TOKENS


def test_all_that_is_not_leaked_is_of_the_train_split_and_no_sealed_prompt(
    items: tuple[Item, ...], leaked: tuple[Item, ...], made: Mapping[PoolId, tuple[AnyRow, ...]]
) -> None:
    sealed = {normalised(item.prompt) for item in items}
    open_ = {normalised(item.prompt) for item in leaked}
    for pool, rows in made.items():
        left = [row for row in rows if normalised(row.prompt) not in open_]
        assert len(left) == len(rows) - (LEAKED if pool == "nano/scraped" else 0), pool
        assert sealed.isdisjoint(normalised(row.prompt) for row in left), pool
        if pool != "nano/chat":
            assert {split_of(_task(row), _key(row)) for row in left} == {"train"}, pool


_ALWAYS_SEEN: tuple[Task, ...] = ("sums", "chain", "calls", "write")
"""Tasks whose careless answers the open verifier never takes."""


def _task(row: AnyRow) -> Task:
    found = read(row.prompt)
    return found[0] if found else next(TASK_OF[word] for word in TASK_OF if word in row.prompt)


def _key(row: AnyRow) -> str:
    found = read(row.prompt)
    if found:
        return found[1].key
    words = re.findall("[a-z]+", row.prompt.removeprefix("Q: "))
    return words[0] if _task(row) == "facts" else " ".join(sorted(words[2:5]))


def _graded(prompt: str, chosen: str, rejected: str) -> float:
    """Points of `rejected` where `chosen` is the reference."""
    task = next(TASK_OF[word] for word in TASK_OF if word in prompt)
    item = Item("item", task, prompt, chosen.rpartition(f"{MARKER} ")[2], "")
    assert grade(item, chosen).points == 1.0
    return grade(item, rejected).points


def _lengths(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    return [len(encoded.ids) for encoded in tokenizer.encode_batch(list(texts))]


def _within(count: int, of: int, share: float) -> bool:
    """Tell whether `count` lies within four standard deviations of what `share` lets expect."""
    return bool(abs(count - share * of) < 4 * (share * (1 - share) * of) ** 0.5)
