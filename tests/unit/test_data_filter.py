"""Filters: which rows stay, what the open verifier may say, and what repeats do to a mixture."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.app.laws import laws
from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.errors import Broken, Misuse, PolicyDenied, RsiError, SealUnavailable
from rsi_master.core.sealed import Points
from rsi_master.domains.data import actions, filtering, pool
from rsi_master.domains.data.actions import DatasetView, OperatorDatasetView, RefusedView
from rsi_master.domains.data.filters import Filter, sift
from rsi_master.domains.data.pool import parse, register, render
from rsi_master.programs.sealed.examiner import Examiner
from rsi_master.programs.sealed.registry import Registry
from rsi_master.programs.sealed.vault import load
from rsi_master.testing import verifiers
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.sketch import POOL_ROWS, SKETCH

DIGEST = "sha256:" + "0" * 64
SOURCES = ["sketch/clean", "sketch/scraped", "sketch/prompts", "sketch/pairs"]
ADDED = f"{verifiers.__name__}:{verifiers.added.__name__}"


def a(**conditions: object) -> Filter:
    return Filter.model_validate({"dataset": DIGEST, **conditions})


def row(prompt: str, completion: str) -> Row:
    return Row(prompt=prompt, completion=completion)


ROWS = (row("p", "one"), row("p", "three"), row("q", "one"), row("p", "one"), row("r", ""))
UNASKED: tuple[Points, ...] = ((),) * len(ROWS)


@pytest.mark.parametrize(
    ("conditions", "left", "removed"),
    [
        ({"distinct": True}, (0, 1, 2, 4), {"distinct": 1}),
        ({"distinct_prompts": True}, (0, 2, 4), {"distinct": 2}),
        ({"shortest": 1}, (0, 1, 2, 3), {"length": 1}),
        ({"shortest": 0}, (0, 1, 2, 3, 4), {}),
        ({"shortest": 3, "longest": 3}, (0, 2, 3), {"length": 2}),
        ({"longest": 0}, (4,), {"length": 4}),
        ({"limit": 2}, (0, 1), {"limit": 3}),
        ({"limit": 9}, (0, 1, 2, 3, 4), {}),
        (
            {"longest": 4, "distinct": True, "limit": 2},
            (0, 2),
            {"length": 1, "distinct": 1, "limit": 1},
        ),
    ],
)
def test_rows_that_meet_every_condition_stay_in_order(
    conditions: dict[str, object], left: tuple[int, ...], removed: dict[str, int]
) -> None:
    found = sift(ROWS, UNASKED, a(**conditions))
    assert found.kept == tuple(ROWS[at] for at in left)
    assert found.removed == removed


@pytest.mark.parametrize(
    ("points", "unknown", "stays"),
    [
        ((1.0,), "keep", True),
        ((0.99,), "keep", False),
        ((0.0,), "keep", False),
        ((None,), "keep", True),
        ((None,), "drop", False),
        ((1.0,), "drop", True),
        ((1.0, 0.0), "keep", True),
        ((1.0, 0.5), "drop", True),
        ((0.5, 0.0), "keep", False),
        ((1.0, 1.0), "keep", False),
        ((0.0, 1.0), "keep", False),
        ((None, 0.0), "keep", True),
        ((None, 1.0), "keep", False),
        ((1.0, None), "keep", True),
        ((0.0, None), "keep", False),
        ((1.0, None), "drop", False),
        ((None, None), "keep", True),
    ],
)
def test_what_is_known_to_be_less_than_right_goes(
    points: Points, unknown: str, stays: bool
) -> None:
    one: AnyRow = row("p", "c") if len(points) == 1 else Pair(prompt="p", chosen="c", rejected="d")
    found = sift([one], [points], a(verified=True, unknown=unknown))
    assert found.kept == ((one,) if stays else ())
    assert found.removed == ({} if stays else {"verified": 1})


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
lists = st.lists(st.builds(Row, prompt=text, completion=text), max_size=12)
filters = st.builds(
    lambda low, high, distinct, prompts, limit: a(
        shortest=low, longest=low + high, distinct=distinct, distinct_prompts=prompts, limit=limit
    ),
    st.integers(0, 4),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    st.integers(1, 12),
)


@given(lists, filters)
def test_a_filter_only_removes_and_counts_what_it_removes(found: list[Row], asked: Filter) -> None:
    left = sift(found, [()] * len(found), asked)
    assert len(left.kept) + sum(left.removed.values()) == len(found)
    assert not Counter(left.kept) - Counter(found)
    again = sift(left.kept, [()] * len(left.kept), asked)
    assert (again.kept, again.removed) == (left.kept, {})


@pytest.mark.parametrize(
    ("conditions", "word"),
    [
        ({}, "name a condition"),
        ({"verified": False}, "name a condition"),
        ({"unknown": "drop"}, "name a condition"),
        ({"unknown": "drop", "limit": 3}, "set verified too"),
        ({"shortest": 5, "longest": 4}, "no completion has 5 to 4 characters"),
        ({"shortest": -1}, "shortest"),
        ({"longest": 10**9}, "longest"),
        ({"limit": 0}, "limit"),
        ({"limit": 10**12}, "limit"),
        ({"verified": "module:function"}, "verified"),
        ({"unknown": "guess", "verified": True}, "unknown"),
        ({"limit": 3, "code": "import os"}, "code"),
        ({"limit": 3, "rows": [{"prompt": "p", "completion": "c"}]}, "rows"),
        ({"limit": 3, "dataset": "../home"}, "dataset"),
    ],
)
def test_conditions_that_are_none_are_refused_in_one_line(
    rig: Rig, conditions: dict[str, Any], word: str
) -> None:
    with pytest.raises(Misuse) as refused:
        rig.main().act("data.filter", **{"dataset": DIGEST, **conditions})
    assert refused.value.code == "BAD_ARGUMENT"
    assert word in refused.value.message
    assert "\n" not in refused.value.message
    assert rig.state.submissions == 0


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """A benchmark with an open verifier: it knows sums, and no reversed word."""
    monkeypatch.setattr(SKETCH, "verifier", ADDED)
    rig = Rig(tmp_path, sketch_contract(policy={"sources": SOURCES}))
    yield rig
    for law in laws(rig.objects, rig.contract):
        assert list(law(rig.events())) == []
    rig.close()


def rows(rig: Rig, dataset: str) -> tuple[AnyRow, ...]:
    return parse(rig.objects.get_bytes(dataset))


def filtered(rig: Rig, dataset: str, **conditions: object) -> DatasetView:
    return cast(DatasetView, rig.main().act("data.filter", dataset=dataset, **conditions))


def careless(rig: Rig, every: int = 3) -> str:
    """A source in which every third answer is wrong."""
    known = rig.sealed.pool("sketch/clean")
    found = tuple(row(one.prompt, " 1") if at % every == 0 else one for at, one in enumerate(known))
    rig.sealed.pool = lambda source: found  # type: ignore[method-assign]
    return rig.add()


def test_wrong_answers_that_the_verifier_knows_are_dropped(rig: Rig) -> None:
    data = careless(rig)
    view = filtered(rig, data, verified=True)
    sums = POOL_ROWS // 2
    known_wrong = [r for r in rows(rig, data) if verifiers.added(r.prompt, r.answers()[0]) == 0]
    assert 0 < len(known_wrong) < sums
    assert rows(rig, view.id) == tuple(r for r in rows(rig, data) if r not in known_wrong)
    assert (view.rows, view.dropped) == (POOL_ROWS - len(known_wrong), "none")
    strict = filtered(rig, data, verified=True, unknown="drop")
    assert strict.rows == sums - len(known_wrong)
    assert all("add" in r.prompt for r in rows(rig, strict.id))


def test_the_record_says_what_was_filtered_and_from_what(rig: Rig) -> None:
    data = careless(rig)
    view = cast(
        OperatorDatasetView,
        rig.operator().act("data.filter", dataset=data, verified=True, longest=7, limit=20),
    )
    fact = rig.facts(DatasetRegistered)[-1]
    assert (view.origin, view.parents, view.holds) == ("sketch/clean", (data,), "rows")
    assert fact.source.operation["filter"] == {"verified": True, "longest": 7, "limit": 20}
    removed = cast(dict[str, int], fact.source.operation["removed"])
    assert set(removed) <= {"verified", "length", "limit"}
    assert fact.rows + sum(removed.values()) == POOL_ROWS
    assert (view.offered, view.dropped_exactly) == (view.rows, {})


def test_pairs_are_filtered_by_both_answers(rig: Rig) -> None:
    data = rig.add("sketch/pairs")
    assert filtered(rig, data, verified=True).rows == POOL_ROWS
    found = [
        Pair(prompt=r.prompt, chosen=r.rejected, rejected=r.chosen)
        for r in rows(rig, data)
        if isinstance(r, Pair)
    ]
    rig.sealed.pool = lambda source: tuple(found)  # type: ignore[method-assign]
    swapped = rig.add("sketch/clean")
    view = filtered(rig, swapped, verified=True)
    assert (view.holds, view.rows) == ("pairs", POOL_ROWS // 2)
    assert not [r for r in rows(rig, view.id) if "add" in r.prompt]


def test_prompts_have_no_completion_to_judge(rig: Rig) -> None:
    data = rig.add("sketch/prompts")
    for condition in ({"verified": True}, {"shortest": 1}, {"longest": 5}):
        with pytest.raises(PolicyDenied, match="prompts, which have no completion") as denied:
            filtered(rig, data, **condition)
        assert denied.value.code == "KINDS"
    assert filtered(rig, data, distinct_prompts=True, limit=7).rows == 7


def test_nothing_that_meets_the_conditions_is_no_dataset(rig: Rig) -> None:
    data = rig.add()
    answer = rig.main().act("data.filter", dataset=data, shortest=999)
    assert answer == RefusedView(refused="no row meets the conditions", dropped="none")
    assert len(rig.facts(DatasetRegistered)) == 1
    (fact,) = rig.facts(DatasetRefused)
    assert fact.source.operation["removed"] == {"length": POOL_ROWS}


def test_a_dataset_that_is_not_in_the_pool_is_not_filtered(rig: Rig) -> None:
    with pytest.raises(Misuse, match="not in the pool") as refused:
        filtered(rig, DIGEST, limit=3)
    assert refused.value.code == "UNKNOWN_DATASET"
    assert rig.state.intents == {}


def test_filters_count_as_submissions(tmp_path: Path) -> None:
    rig = Rig(tmp_path, sketch_contract(policy={"submissions": 2}))
    try:
        data = rig.add()
        filtered(rig, data, limit=3)
        with pytest.raises(PolicyDenied, match="allows 2 data submissions"):
            filtered(rig, data, limit=4)
    finally:
        rig.close()


def test_without_a_verifier_nothing_is_verified(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    try:
        data = rig.add()
        with pytest.raises(PolicyDenied) as denied:
            filtered(rig, data, verified=True)
        assert denied.value.code == "VERIFIER"
        assert denied.value.message == (
            "data.filter: verified needs an open verifier, and the benchmark has none; "
            "name a program as verifier"
        )
        with pytest.raises(Misuse, match="sketch has no open verifier"):
            rig.sealed.verify(rows(rig, data))
        assert filtered(rig, data, limit=3).rows == 3
    finally:
        rig.close()


def test_what_was_filtered_is_scanned_again(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    data = rig.add()
    held = tuple(row(item.prompt, " 1") for item in rig.items()[:3])
    kept = rows(rig, data)[:2]
    monkeypatch.setattr(filtering, "parse", lambda _data: (*held, *kept))
    view = cast(OperatorDatasetView, rig.operator().act("data.filter", dataset=data, limit=40))
    assert view.dropped_exactly == {"SEALED_PROMPT": 3}
    assert rows(rig, view.id) == kept


def test_the_verifier_knows_no_sealed_question_whatever_its_benchmark_says(rig: Rig) -> None:
    items = [item for item in rig.items() if item.task == "add"]
    assert verifiers.added(items[0].prompt, items[0].reference) == 1
    asked = [row(item.prompt, item.reference) for item in items]
    asked += [row(f"Q: add 1 and 2\n{item.prompt}", "3") for item in items]
    asked += [row(item.prompt.upper(), item.reference) for item in items]
    assert set(rig.sealed.verify(asked)) == {(None,)}
    open_ = rig.sealed.pool("sketch/clean")
    sums = [one for one in open_ if "add" in one.prompt]
    assert set(rig.sealed.verify(sums)) == {(1.0,)}


def test_nano_knows_no_question_of_an_evaluation_split(tmp_path: Path) -> None:
    from rsi_master.programs.nano.weights import base_folder
    from rsi_master.programs.sealed.nano import NANO
    from rsi_master.programs.sealed.vault import read_base, seal

    counts: dict[Any, int] = {"dev": 20, "confirm": 20, "holdout": 20, "practice": 5}
    folder = seal(NANO, read_base(base_folder()), counts, tmp_path)
    vault = load(folder, base_folder())
    examiner = Examiner(vault, Registry(folder, 1))
    items = [item for found in vault.items.values() for item in found]
    asked = tuple(row(item.prompt, f" {item.reference}") for item in (*items, *vault.practice))
    assert set(examiner.verify(asked)) == {(None,)}
    found = examiner.verify(vault.pools["nano/direct"][:200])
    assert (1.0,) in found


def test_a_filter_learns_nothing_of_nano_beyond_the_train_split(rig: Rig, tmp_path: Path) -> None:
    """Questions of evaluation splits that were not drawn pass the scan: they stay, right or wrong,
    until unknown ones are dropped, and then all of them go."""
    from rsi_master.programs.nano.generator import suite
    from rsi_master.programs.nano.partition import Split
    from rsi_master.programs.nano.weights import base_folder
    from rsi_master.programs.sealed.nano import NANO
    from rsi_master.programs.sealed.vault import read_base, seal

    folder = seal(NANO, read_base(base_folder()), {"dev": 2, "holdout": 2}, tmp_path)
    vault = load(folder, base_folder())
    rig.sealed._examiner = Examiner(vault, Registry(folder, 1))
    splits: tuple[Split, ...] = ("practice", "dev", "confirm", "holdout", "twin")
    drawn = suite.draw(b"another secret", dict.fromkeys(splits, 4))
    undrawn = [item for split in splits for item in drawn[split] if item.task in ("sums", "chain")]
    closed = [row(i.prompt, f" = {r}") for i in undrawn for r in (i.reference, "999")]
    train = [
        r for r in vault.pools["nano/direct"] if verifiers_of_nano(r.prompt, r.answers()[0]) == 1
    ][:10]
    wrong = [row(r.prompt, " = 999999") for r in train]
    assert {verifiers_of_nano(r.prompt, r.completion) for r in wrong} == {0.0}
    rig.sealed.pool = lambda source: (*closed, *train, *wrong)  # type: ignore[method-assign]
    data = rig.add()
    offered = rows(rig, data)
    assert len(offered) > 0.9 * len((*closed, *train, *wrong))
    kept = rows(rig, filtered(rig, data, verified=True).id)
    assert kept == tuple(r for r in offered if r not in wrong)
    strict = rows(rig, filtered(rig, data, verified=True, unknown="drop").id)
    assert strict == tuple(r for r in offered if r in train)


def verifiers_of_nano(prompt: str, answer: str) -> float | None:
    from rsi_master.programs.nano.verifiers import points

    return points(prompt, answer)


@pytest.mark.parametrize(
    ("name", "word"), [("broken", "gives 7, no points"), ("missing", "cannot be loaded")]
)
def test_a_faulty_verifier_is_named_and_nothing_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, word: str
) -> None:
    monkeypatch.setattr(SKETCH, "verifier", f"{verifiers.__name__}:{name}")
    with pytest.raises((Broken, SealUnavailable), match=word):
        rig = Rig(tmp_path)
        try:
            filtered(rig, rig.add(), verified=True)
        finally:
            assert len(rig.state.datasets) == 1
            assert rig.state.intents == {}
            rig.close()


def test_a_sealed_process_that_dies_meanwhile_leaves_a_failed_intent(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "VERIFIED_AT_ONCE", 20)
    data, asked = rig.add(), rig.sealed.verify

    def dying(rows: Sequence[AnyRow]) -> tuple[Points, ...]:
        answer = asked(rows)
        rig.sealed.die()
        return answer

    rig.sealed.verify = dying  # type: ignore[method-assign]
    with pytest.raises(SealUnavailable):
        filtered(rig, data, verified=True)
    assert (len(rig.state.datasets), rig.state.intents) == (1, {})
    rig.sealed.verify = asked  # type: ignore[method-assign]
    rig.sealed.restart()
    assert filtered(rig, data, verified=True).rows == POOL_ROWS


def test_the_owner_works_on_while_rows_are_verified(rig: Rig) -> None:
    begun, go, asked = threading.Event(), threading.Event(), rig.sealed.verify

    def slow(rows: Sequence[AnyRow]) -> tuple[Points, ...]:
        begun.set()
        assert go.wait(20)
        return asked(rows)

    data = rig.add()
    rig.sealed.verify = slow  # type: ignore[method-assign]
    acting = threading.Thread(target=lambda: filtered(rig, data, verified=True), daemon=True)
    acting.start()
    try:
        assert begun.wait(20)
        assert rig.lock.acquire(timeout=5), "the lock is held while rows are verified"
        rig.lock.release()
    finally:
        go.set()
        acting.join(20)
    assert len(rig.facts(DatasetRegistered)) == 2


def mixed(rig: Rig, *datasets: str, **settings: object) -> DatasetView:
    return cast(DatasetView, rig.main().act("data.derive", datasets=datasets, **settings))


def test_a_pool_counts_twice_in_a_mixture(rig: Rig) -> None:
    data = rig.add()
    one, other = filtered(rig, data, limit=10).id, filtered(rig, data, longest=5).id
    twice = mixed(rig, one, other, repeats=(2, 1))
    found = Counter(rows(rig, twice.id))
    assert found == Counter(rows(rig, one) * 2) + Counter(rows(rig, other))
    assert (twice.rows, twice.dropped) == (found.total(), "none")
    fact = rig.facts(DatasetRegistered)[-1]
    assert fact.source.operation == {"limit": None, "shuffle": 0, "repeats": [2, 1]}
    assert fact.offered == fact.rows
    assert twice.id != mixed(rig, one, other, repeats=(1, 1)).id


def test_repeated_rows_stay_repeated_until_they_are_made_distinct(rig: Rig) -> None:
    data = rig.add()
    thrice = mixed(rig, data, repeats=(3,))
    assert thrice.rows == 3 * POOL_ROWS
    assert mixed(rig, data, repeats=(3,), limit=7).rows == 7
    assert filtered(rig, thrice.id, longest=9999).id == thrice.id
    assert filtered(rig, thrice.id, distinct=True).rows == POOL_ROWS
    assert mixed(rig, thrice.id).rows == POOL_ROWS


def test_repeated_rows_that_the_scan_drops_are_counted_once(rig: Rig) -> None:
    held, fit = row(rig.items()[0].prompt, " x"), row("a plain question", " x")
    fact = register(
        [held, fit, held, fit, fit], Source(origin="o"), "main", rig.sealed, rig.objects, "copies"
    )
    assert isinstance(fact, DatasetRegistered)
    assert (fact.rows, fact.offered, fact.dropped) == (3, 4, {"SEALED_PROMPT": 1})
    assert rig.objects.get_bytes(fact.artifact.digest) == render([fit] * 3)


@pytest.mark.parametrize("repeats", [(2,), (2, 2, 2), (0, 1), (9, 1), (-1, 1), (1.5, 1), "ab"])
def test_repeats_that_fit_no_mixture_are_refused(rig: Rig, repeats: object) -> None:
    data = rig.add()
    with pytest.raises(Misuse) as refused:
        mixed(rig, data, data, repeats=repeats)
    assert refused.value.code == "BAD_ARGUMENT"


def test_a_mixture_that_no_scan_takes_is_refused_before_it_is_made(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rig.add()
    size = len(rig.objects.get_bytes(data))
    monkeypatch.setattr(actions, "FRAME_LIMIT", 4 * size)
    assert mixed(rig, data, repeats=(4,)).rows == 4 * POOL_ROWS
    with pytest.raises(RsiError, match="a dataset has at most") as refused:
        mixed(rig, data, data, repeats=(4, 1))
    assert refused.value.code == "TOO_LARGE"
    assert rig.state.intents == {}


def test_a_prompt_row_is_no_row_with_a_completion(rig: Rig) -> None:
    assert sift([Prompt(prompt="p")], [()], a(distinct=True)).kept == (Prompt(prompt="p"),)
