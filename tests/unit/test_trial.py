"""`rsi try` on records that cannot be asked: one line each, and what may be named instead."""

import io
from pathlib import Path

import pytest

from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record, read
from rsi_master.core.errors import Finding, Misuse
from rsi_master.interfaces.trial import Wanted, compare, examples

GOLDEN = Path(__file__).parents[1] / "golden" / "dd84764"
BODIES = (GOLDEN / "events.jsonl").read_bytes().splitlines()


def record(folder: Path, events: int) -> Record:
    """The golden run as it was after so many events, without any artifact."""
    for name in ("contract.toml", "run.id"):
        (folder / name).write_bytes((GOLDEN / name).read_bytes())
    run = RunFolder(folder)
    store = SqliteEvents(run.ledger)
    store.append(BODIES[:events])
    store.close()
    return read(run)


def asked(found: Record, experiment: str = "champion") -> int:
    return compare(found, Wanted(("a",), experiment, 8, as_json=False), io.StringIO())


def test_a_run_without_a_champion_has_none_to_ask(tmp_path: Path) -> None:
    found = record(tmp_path, len(BODIES) - 1)
    with pytest.raises(Finding, match=r"has no champion yet; name .*--experiment ID, `rsi graph`"):
        asked(found)


def test_what_is_no_experiment_and_what_has_no_checkpoint_is_told(tmp_path: Path) -> None:
    found = record(tmp_path, len(BODIES))
    for named, told in (("main", "names main main"), ("base", "names experiment base")):
        with pytest.raises(Misuse, match=f"{told}; name an experiment"):
            asked(found, named)
    with pytest.raises(Misuse, match="nothing called 'gone'"):
        asked(found, "gone")
    queued = next(at for at, body in enumerate(BODIES) if b"experiment.queued" in body) + 1
    other = tmp_path / "early"
    other.mkdir()
    early = record(other, queued)
    name = next(name for name in early.state.experiments if name != "base")
    with pytest.raises(Misuse, match=r"has no checkpoint \(queued\); name another"):
        asked(early, name)


def test_missing_bytes_are_told_and_give_no_examples(tmp_path: Path) -> None:
    found = record(tmp_path, len(BODIES))
    with pytest.raises(Finding, match=r"^the base: artifact sha256:.* is missing .*`rsi verify`"):
        asked(found)
    assert found.state.datasets
    assert examples(found) == []
