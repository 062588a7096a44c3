"""The data pool: rows have an id only after the scan, and sources are those of the contract."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row, RowKind
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.errors import Misuse, PolicyDenied, RsiError
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.sealed import ScanReport
from rsi_master.domains.data.actions import (
    DatasetView,
    OperatorDatasetView,
    PoolView,
    RefusedView,
    RowsView,
)
from rsi_master.domains.data.pool import parse, register, render
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.sketch import PLANTED, POOL_ROWS

CLEAN, SCRAPED = "sketch/clean", "sketch/scraped"
PROMPTS, PAIRS = "sketch/prompts", "sketch/pairs"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.close()


def rows(rig: Rig, dataset: str) -> tuple[AnyRow, ...]:
    return parse(rig.objects.get_bytes(dataset))


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)

LISTS: st.SearchStrategy[list[AnyRow]] = st.one_of(
    st.lists(st.builds(Row, prompt=text, completion=text), max_size=6),
    st.lists(st.builds(Prompt, prompt=text), max_size=6),
    st.lists(st.builds(Pair, prompt=text, chosen=text, rejected=text), max_size=6),
)


@given(LISTS, st.integers(0, 7))
def test_rendered_rows_read_back_whole_and_by_window(found: list[AnyRow], start: int) -> None:
    data = render(found)
    assert list(parse(data)) == found
    assert list(parse(data, start, 2)) == found[start : start + 2]


@pytest.mark.parametrize(
    "line", [b"{", b"[]", b'{"prompt":"a","chosen":"b"}', b'{"prompt":"a","completion":1}']
)
def test_a_damaged_row_is_named_by_its_line(line: bytes) -> None:
    with pytest.raises(Misuse, match="row 2 "):
        parse(render([Row(prompt="a", completion="b")]) + line)


def test_a_planted_pool_is_dropped_before_it_has_an_id(rig: Rig) -> None:
    view = cast(OperatorDatasetView, rig.operator().act("data.add", source=SCRAPED))
    assert (view.rows, view.offered) == (POOL_ROWS, POOL_ROWS + 2 * PLANTED)
    assert view.dropped_exactly == {"SEALED_PROMPT": 2 * PLANTED}
    stems = [item.stem for item in rig.items()]
    assert not [
        r for r in rows(rig, view.id) for stem in stems if stem in "".join((r.prompt, *r.answers()))
    ]
    assert not [blob for blob in rig.objects.blobs.values() for s in stems if s.encode() in blob]


def test_agents_learn_one_coarse_word_about_what_was_dropped(rig: Rig) -> None:
    clean = cast(DatasetView, rig.main().act("data.add", source=CLEAN))
    scraped = cast(DatasetView, rig.main().act("data.add", source=SCRAPED))
    assert (clean.dropped, scraped.dropped) == ("none", "many")
    assert type(scraped) is DatasetView
    assert "offered" not in DatasetView.model_fields


def test_only_sources_of_the_contract_and_each_once(rig: Rig) -> None:
    for source in ("sketch/secret", "../sealed", "https://host/rows.jsonl", "/etc/passwd"):
        with pytest.raises(PolicyDenied) as denied:
            rig.add(source)
        assert denied.value.code == "SOURCE"
    rig.add(CLEAN)
    with pytest.raises(PolicyDenied, match="in the pool already"):
        rig.add(CLEAN)


def test_a_source_that_the_sealed_set_lacks_leaves_a_failed_intent(tmp_path: Path) -> None:
    rig = Rig(tmp_path, sketch_contract(policy={"sources": ["sketch/other"]}))
    try:
        with pytest.raises(Misuse):
            rig.add("sketch/other")
        assert (rig.state.datasets, rig.state.intents) == ({}, {})
    finally:
        rig.close()


def test_submissions_are_capped(tmp_path: Path) -> None:
    rig = Rig(tmp_path, sketch_contract(policy={"submissions": 2}))
    try:
        data = rig.add()
        derive(rig, data, limit=5)
        for act in (lambda: rig.add(SCRAPED), lambda: derive(rig, data, limit=6)):
            with pytest.raises(PolicyDenied, match="allows 2 data submissions"):
                act()
    finally:
        rig.close()


def derive(rig: Rig, *datasets: str, **settings: object) -> DatasetView:
    return cast(DatasetView, rig.main().act("data.derive", datasets=datasets, **settings))


def test_a_derived_dataset_holds_rows_of_its_parents_in_a_fixed_order(rig: Rig) -> None:
    data = rig.add()
    one, again, other = (derive(rig, data, limit=10, shuffle=s) for s in (1, 1, 2))
    assert one.id == again.id != other.id
    assert one.parents == (data,)
    assert set(rows(rig, one.id)) < set(rows(rig, data))
    assert one.rows == 10


def test_deriving_from_what_is_not_in_the_pool_fails(rig: Rig) -> None:
    with pytest.raises(Misuse, match="not in the pool"):
        derive(rig, "sha256:" + "0" * 64)


def test_a_dataset_is_shown_as_the_trainer_reads_it(rig: Rig) -> None:
    data = rig.add()
    seen = cast(RowsView, rig.main().act("data.inspect", dataset=data, start=58, count=5))
    assert (seen.total, seen.start) == (POOL_ROWS, 58)
    assert seen.rows == rows(rig, data)[58:]
    assert [d.id for d in cast(PoolView, rig.main().act("data.list")).datasets] == [data]


def test_rows_of_which_none_is_left_get_no_id(rig: Rig) -> None:
    sealed = [Row(prompt=item.prompt, completion=" x") for item in rig.items()[:4]]
    fact = register(sealed, Source(origin="planted"), "main", rig.sealed, rig.objects)
    assert isinstance(fact, DatasetRefused)
    assert (fact.offered, fact.dropped) == (4, {"SEALED_PROMPT": 4})


def test_a_source_of_sealed_rows_alone_is_refused_in_the_open(rig: Rig) -> None:
    sealed = tuple(Row(prompt=item.prompt, completion=" x") for item in rig.items()[:4])
    rig.sealed.pool = lambda source: sealed  # type: ignore[method-assign]
    answer = rig.main().act("data.add", source=CLEAN)
    assert answer == RefusedView(refused="no row survived the scan", dropped="many")
    assert rig.facts(DatasetRegistered) == []
    assert len(rig.facts(DatasetRefused)) == 1


class Slow:
    """Keeps the sealed process busy with the rows of a dataset until it is let go."""

    def __init__(self, rig: Rig) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self._scan = rig.sealed.scan
        rig.sealed.scan = self.scan  # type: ignore[method-assign]

    def scan(self, rows: Sequence[AnyRow]) -> ScanReport:
        """Only a dataset has that many rows; the texts of an action pass."""
        if len(rows) > 10:
            self.begun.set()
            assert self.go.wait(20)
        return self._scan(rows)


@pytest.mark.parametrize("name", ["data.add", "data.derive"])
def test_the_owner_works_on_while_rows_are_read_and_scanned(rig: Rig, name: str) -> None:
    data = rig.add()
    acts: dict[str, Callable[[], object]] = {
        "data.add": lambda: rig.add(SCRAPED),
        "data.derive": lambda: derive(rig, data, limit=20),
    }
    slow = Slow(rig)
    adding = threading.Thread(target=acts[name], daemon=True)
    adding.start()
    try:
        assert slow.begun.wait(20)
        assert rig.lock.acquire(timeout=5), "the lock is held while rows are scanned"
        rig.lock.release()
        rig.tick()
        assert len(cast(PoolView, rig.operator().act("data.list")).datasets) == 1
        assert [intent.action for intent in rig.state.intents.values()] == [name]
    finally:
        slow.go.set()
        adding.join(20)
    assert (len(rig.facts(DatasetRegistered)), rig.state.intents) == (2, {})


def test_a_pool_that_breaks_leaves_a_failed_intent(rig: Rig) -> None:
    def broken(source: str) -> tuple[Row, ...]:
        raise OSError(f"{source}: the disk is gone")

    rig.sealed.pool = broken  # type: ignore[method-assign]
    with pytest.raises(RsiError) as failed:
        rig.add()
    assert failed.value.code == "INTERNAL"
    assert (rig.state.datasets, rig.state.intents) == ({}, {})


KINDS: dict[str, RowKind] = {CLEAN: "rows", PROMPTS: "prompts", PAIRS: "pairs"}


@pytest.fixture
def varied(tmp_path: Path) -> Iterator[Rig]:
    """A contract that names a source of each kind."""
    rig = Rig(tmp_path, sketch_contract(policy={"sources": list(KINDS)}))
    yield rig
    rig.close()


def test_each_dataset_says_what_kind_of_rows_it_holds(varied: Rig) -> None:
    added = [cast(DatasetView, varied.main().act("data.add", source=source)) for source in KINDS]
    assert {view.origin: view.holds for view in added} == KINDS
    assert {f.source.origin: f.holds for f in varied.facts(DatasetRegistered)} == KINDS
    listed = cast(PoolView, varied.worker(varied.open_worker()).act("data.list")).datasets
    assert {view.origin: view.holds for view in listed} == KINDS
    worked, alone, pairs = added
    assert alone.mean_completion_chars == 0
    assert pairs.mean_completion_chars == worked.mean_completion_chars + len(" no idea")


@pytest.mark.parametrize(("source", "type_"), [(PROMPTS, Prompt), (PAIRS, Pair)])
def test_rows_of_any_kind_are_shown(varied: Rig, source: str, type_: type[AnyRow]) -> None:
    data = varied.add(source)
    seen = cast(RowsView, varied.main().act("data.inspect", dataset=data, count=3))
    assert (seen.holds, seen.rows) == (KINDS[source], rows(varied, data)[:3])
    assert {type(row) for row in seen.rows} == {type_}


@pytest.mark.parametrize("source", KINDS)
def test_a_mixture_is_of_the_kind_of_its_parents(varied: Rig, source: str) -> None:
    data = varied.add(source)
    half = derive(varied, data, limit=30, shuffle=1)
    assert (half.holds, half.rows) == (KINDS[source], 30)
    again = derive(varied, half.id, data)
    assert (again.holds, again.rows) == (KINDS[source], POOL_ROWS)


def test_kinds_are_not_mixed(varied: Rig) -> None:
    worked, pairs = varied.add(CLEAN), varied.add(PAIRS)
    before = varied.facts(DatasetRegistered)
    with pytest.raises(PolicyDenied) as denied:
        derive(varied, worked, worked, pairs)
    assert denied.value.code == "KINDS"
    for told in (f"{worked[:19]} holds rows", f"{pairs[:19]} holds pairs"):
        assert told in denied.value.message
    assert varied.facts(DatasetRegistered) == before


def test_a_source_that_mixes_kinds_gets_no_id(rig: Rig) -> None:
    mixed, stored = (Row(prompt="a", completion="b"), Prompt(prompt="a")), dict(rig.objects.blobs)
    rig.sealed.pool = lambda source: mixed  # type: ignore[method-assign]
    with pytest.raises(Misuse, match=f"{CLEAN} holds prompts and rows"):
        rig.add()
    assert (rig.state.datasets, rig.state.intents) == ({}, {})
    assert rig.objects.blobs == stored


@pytest.mark.parametrize("source", [PROMPTS, PAIRS])
def test_a_recipe_is_not_queued_on_a_kind_that_it_does_not_take(varied: Rig, source: str) -> None:
    data = varied.add(source)
    node = varied.open_worker(data)
    left = varied.state.books.left()
    with pytest.raises(PolicyDenied) as denied:
        varied.submit(node, data)
    assert denied.value.code == "KIND"
    told = f"dataset {data[:19]} holds {KINDS[source]}, and recipe sketch takes rows"
    assert told in denied.value.message
    assert varied.facts(ExperimentQueued) == []
    assert varied.state.books.left() == left
