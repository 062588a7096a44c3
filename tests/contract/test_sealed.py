"""The port `Sealed`: one suite for the fake and for the process."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from rsi_master.adapters.sealed.client import SealedProcess
from rsi_master.core.artifact import AnyRow, Pair, Prompt, Row
from rsi_master.core.errors import Misuse, PolicyDenied
from rsi_master.core.ports import Sealed
from rsi_master.core.probe import Window
from rsi_master.core.score import Drawn, NotScored, Scored
from rsi_master.core.sealed_wire import CHECKPOINT_FILE
from rsi_master.programs.sealed.vault import read_base, seal
from rsi_master.testing.sealed import FakeSealed
from rsi_master.testing.sketch import SKETCH, write_checkpoint

Kind = type[FakeSealed] | type[SealedProcess]
BASE_SKILL, GOOD_SKILL = 0.2, 0.8
ADDED = "rsi_master.testing.verifiers:added"
SOURCES = ("sketch/clean", "sketch/few", "sketch/pairs", "sketch/prompts", "sketch/scraped")
COUNTS: dict[Drawn, int] = {"dev": 40, "confirm": 30, "holdout": 50, "twin": 5, "practice": 6}


@pytest.fixture(scope="module", params=[FakeSealed, SealedProcess])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("base"), BASE_SKILL)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "good", GOOD_SKILL)


@pytest.fixture(scope="module")
def sealed(kind: Kind, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    """Shared by the tests that open no exam."""
    part = kind(sealed_set(base, tmp_path_factory.mktemp("home")), base)
    yield part
    part.close()


@pytest.fixture
def exam(kind: Kind, base: Path, tmp_path: Path) -> Iterator[Sealed]:
    """With an exam of its own."""
    part = kind(sealed_set(base, tmp_path), base)
    yield part
    part.close()


def sealed_set(base: Path, home: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SKETCH, "verifier", ADDED)
        return seal(SKETCH, read_base(base), COUNTS, home, secret=b"s" * 32)


def write_tensors(folder: Path, **tensors: np.ndarray) -> Path:
    folder.mkdir()
    save_file(tensors, folder / CHECKPOINT_FILE)
    return folder


def test_the_set_is_described_by_sizes_and_digests(sealed: Sealed) -> None:
    described = sealed.open()
    assert described.sizes == {"dev": 80, "confirm": 60, "holdout": 100, "twin": 10}
    assert described.tasks == ("reverse", "add")
    assert described.sources == SOURCES
    assert described.openings == 1
    assert (described.verifier, described.practice) == (ADDED, 12)
    assert described == sealed.open()


def test_a_checkpoint_is_scored_twice_alike(sealed: Sealed, good: Path, base: Path) -> None:
    first = sealed.evaluate("e1#1", good, ("dev", "confirm"))
    second = sealed.evaluate("e1#2", good, ("dev", "confirm"))
    assert first.scores == second.scores
    assert first.items == second.items
    assert first.weights == second.weights != sealed.open().base
    dev, confirm = first.scores
    assert isinstance(dev.average, Scored)
    assert dev.average.low <= GOOD_SKILL <= dev.average.high
    assert dev.average.n == len(first.items["dev"]) == sum(dev.counts.values()) == 80
    assert set(confirm.tasks) == {"reverse", "add"}
    assert sealed.evaluate("b#1", base, ("dev",)).weights == sealed.open().base


def test_items_come_without_prompt_and_reference(sealed: Sealed, good: Path) -> None:
    found = sealed.evaluate("e1#1", good, ("confirm",)).items["confirm"]
    assert len({item.item for item in found}) == 60
    wrong = [item for item in found if item.verdict == "wrong"]
    assert wrong
    assert {(item.output, item.points) for item in wrong} == {(" no idea", 0.0)}


@pytest.mark.parametrize("split", ["holdout", "twin"])
def test_the_exam_cannot_be_evaluated(sealed: Sealed, good: Path, split: str) -> None:
    with pytest.raises(Misuse, match=split):
        sealed.evaluate("e1#1", good, ("dev", split))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ({"skill": np.full(2, 0.5, np.float32)}, "WRONG_TENSORS"),
        ({"skill": np.full(1, 0.5, np.float64)}, "WRONG_TENSORS"),
        ({"talent": np.full(1, 0.5, np.float32)}, "WRONG_TENSORS"),
        ({"skill": np.ones(1, np.float32), "more": np.ones(1, np.float32)}, "WRONG_TENSORS"),
        ({"skill": np.full(1, np.nan, np.float32)}, "NOT_FINITE"),
        ({"skill": np.full(1, -np.inf, np.float32)}, "NOT_FINITE"),
    ],
)
def test_unfit_weights_are_not_scored(
    sealed: Sealed, tmp_path: Path, tensors: dict[str, np.ndarray], reason: str
) -> None:
    result = sealed.evaluate("e1#1", write_tensors(tmp_path / "odd", **tensors), ("dev",))
    assert result.scores[0].average == NotScored(reason=reason)
    assert set(result.scores[0].tasks.values()) == {NotScored(reason=reason)}
    assert result.items == {}


def test_bytes_that_are_no_tensors_are_not_scored(sealed: Sealed, good: Path) -> None:
    (good / CHECKPOINT_FILE).write_bytes(b"\x80\x04pickle")
    result = sealed.evaluate("e1#1", good, ("dev",))
    assert result.scores[0].average == NotScored(reason="UNREADABLE_WEIGHTS")


def test_a_missing_checkpoint_is_named(sealed: Sealed, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="nowhere"):
        sealed.evaluate("e1#1", tmp_path / "nowhere", ("dev",))
    assert sealed.open()


def test_a_claim_compares_champion_and_base(exam: Sealed, good: Path, base: Path) -> None:
    result = exam.claim("run/claim-1", good, base)
    assert isinstance(result.champion.average, Scored)
    assert isinstance(result.base.average, Scored)
    assert result.champion.average.low > result.base.average.high
    assert result.difference is not None
    gain = result.champion.average.value - result.base.average.value
    assert result.difference.mean == pytest.approx(gain)
    assert 0 < result.difference.low < gain < result.difference.high
    assert result.difference.n == 100


def test_one_opening_is_one_claim_also_after_a_restart(
    exam: Sealed, good: Path, base: Path
) -> None:
    first = exam.claim("run/claim-1", good, base)
    exam.restart()
    again = exam.claim("run/claim-1", good, base)
    assert (again.champion, again.base, again.difference) == (
        first.champion,
        first.base,
        first.difference,
    )
    with pytest.raises(PolicyDenied) as denied:
        exam.claim("run/claim-2", good, base)
    assert denied.value.code == "EXAM_SPENT"
    assert "run/claim-1" in denied.value.message


def test_a_name_does_not_open_the_exam_for_other_weights(
    exam: Sealed, good: Path, base: Path, tmp_path: Path
) -> None:
    exam.claim("run/claim-1", good, base)
    with pytest.raises(PolicyDenied, match="1 of 1"):
        exam.claim("run/claim-1", write_checkpoint(tmp_path / "better", 0.9), base)


def test_a_champion_that_cannot_be_scored_opens_nothing(
    exam: Sealed, good: Path, base: Path, tmp_path: Path
) -> None:
    odd = write_tensors(tmp_path / "odd", skill=np.full(1, np.nan, np.float32))
    result = exam.claim("run/claim-0", odd, base)
    assert result.champion.average == NotScored(reason="NOT_FINITE")
    assert result.difference is None
    assert exam.claim("run/claim-1", good, base).difference is not None


def test_a_claim_against_another_base_is_refused(exam: Sealed, good: Path, base: Path) -> None:
    with pytest.raises(Misuse, match="not the base"):
        exam.claim("run/claim-1", good, good)
    assert exam.claim("run/claim-2", good, base).difference is not None


def test_planted_rows_are_dropped_and_counted(sealed: Sealed) -> None:
    clean, scraped = sealed.pool("sketch/clean"), sealed.pool("sketch/scraped")
    assert sealed.scan(clean).dropped == {}
    report = sealed.scan(scraped)
    assert report.dropped == {"SEALED_PROMPT": 10}
    assert [scraped[position] for position in report.kept] == list(clean)
    assert sealed.scan(()).kept == ()


def test_each_source_hands_out_rows_of_its_kind_and_they_pass_the_scan(sealed: Sealed) -> None:
    kinds = {source: {type(row) for row in sealed.pool(source)} for source in SOURCES}
    assert kinds == {
        "sketch/clean": {Row},
        "sketch/few": {Row},
        "sketch/pairs": {Pair},
        "sketch/prompts": {Prompt},
        "sketch/scraped": {Row},
    }
    worked = sealed.pool("sketch/clean")
    for source in ("sketch/pairs", "sketch/prompts"):
        found = sealed.pool(source)
        assert [row.prompt for row in found] == [row.prompt for row in worked]
        assert sealed.scan(found).kept == tuple(range(len(found)))


def test_the_open_verifier_tells_the_points_of_each_answer(sealed: Sealed) -> None:
    rows: list[AnyRow] = [
        Row(prompt="Q: add 1 and 2\nA:", completion=" 3"),
        Row(prompt="Q: add 1 and 2\nA:", completion=" 4"),
        Row(prompt="Q: reverse abc\nA:", completion=" cba"),
        Pair(prompt="Q: add 1 and 2\nA:", chosen=" 3", rejected=" 4"),
        Prompt(prompt="Q: add 1 and 2\nA:"),
        Row(prompt="Q: add 1 and 2\nA:", completion=" 3\ud800"),
    ]
    assert sealed.verify(rows) == ((1.0,), (0.0,), (None,), (1.0, 0.0), (), (0.0,))
    assert sealed.verify(()) == ()


def test_a_checkpoint_answers_open_questions(sealed: Sealed, good: Path, base: Path) -> None:
    found = sealed.probe("p1", good, Window(count=64))
    assert (found.total, len(found.answers)) == (12, 12)
    assert found.weights == sealed.evaluate("e1#1", good, ("dev",)).weights
    assert found.protocol == sealed.open().protocol
    assert {answer.task for answer in found.answers} == {"reverse", "add"}
    assert sealed.scan(
        [Row(prompt=a.prompt, completion=" x") for a in found.answers]
    ).kept == tuple(range(12))
    some = sealed.probe("p2", good, Window(task="add", start=1, count=2))
    adds = [answer for answer in found.answers if answer.task == "add"]
    assert (some.total, list(some.answers)) == (6, adds[1:3])
    assert sealed.probe("p3", base, Window()).weights == sealed.open().base


@pytest.mark.parametrize(
    ("window", "word"),
    [
        (Window(task="holdout"), "0 practice questions of holdout"),
        (Window(start=12), "12 practice"),
    ],
)
def test_there_are_no_other_open_questions(
    sealed: Sealed, good: Path, window: Window, word: str
) -> None:
    with pytest.raises(Misuse, match=word):
        sealed.probe("p1", good, window)


def test_weights_that_cannot_answer_are_named(sealed: Sealed, tmp_path: Path) -> None:
    odd = write_tensors(tmp_path / "odd", skill=np.full(1, np.nan, np.float32))
    with pytest.raises(Misuse, match="NOT_FINITE"):
        sealed.probe("p1", odd, Window())
    with pytest.raises(Misuse, match="nowhere"):
        sealed.probe("p1", tmp_path / "nowhere", Window())
    assert sealed.open()


@pytest.mark.parametrize(
    "row",
    [
        Row(prompt="a\ud800b", completion="c"),
        Row(prompt="a", completion="c\udfff"),
        Prompt(prompt="a\ud800b"),
        Pair(prompt="a\ud800b", chosen="c", rejected="d"),
        Pair(prompt="a", chosen="c\ud800", rejected="d"),
        Pair(prompt="a", chosen="c", rejected="\ud800d"),
    ],
)
def test_text_that_is_no_unicode_is_dropped(sealed: Sealed, row: AnyRow) -> None:
    rows = [row, Row(prompt="fine", completion="c")]
    report = sealed.scan(rows)
    assert (report.kept, report.dropped) == ((1,), {"NOT_TEXT": 1})


def test_an_unknown_source_is_refused_with_the_known_ones(sealed: Sealed) -> None:
    with pytest.raises(Misuse, match=", ".join(SOURCES)):
        sealed.pool("sketch/secret")
