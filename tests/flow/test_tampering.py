"""A finished run, changed on disk in three ways: `rsi verify` names each and exits with 1."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from rsi_master.app import start
from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import check, read
from rsi_master.interfaces.cli import main
from rsi_master.testing.crash import agents

from .contracts import created, sketch


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, home = created(tmp_path_factory.mktemp("whole"), sketch())
    start.run(folder, home, start.Setting(agents=agents()))
    assert check(folder).flaws == ()
    return folder.path


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> RunFolder:
    """A copy at another place holds as well as the original."""
    shutil.copytree(finished, tmp_path / "moved here")
    folder = RunFolder(tmp_path / "moved here")
    assert check(folder).flaws == ()
    return folder


def verified(folder: RunFolder, capsys: pytest.CaptureFixture[str]) -> list[dict[str, str]]:
    """The flaws that the command names."""
    assert main(["verify", str(folder.path), "--json"]) == 1
    flaws: list[dict[str, str]] = json.loads(capsys.readouterr().out)["flaws"]
    return flaws


def test_a_flipped_byte_is_named(copy: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(copy.ledger) as table:
        ((body,),) = table.execute("SELECT body FROM events WHERE position = 7").fetchall()
        flipped = body.replace(b'"at":1', b'"at":2', 1)
        assert flipped != body
        table.execute("UPDATE events SET body = ? WHERE position = 7", (flipped,))
    flaws = verified(copy, capsys)
    assert ("EVENT_ALTERED", "event 7") in {(flaw["code"], flaw["where"]) for flaw in flaws}


def test_a_removed_event_is_named(copy: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with sqlite3.connect(copy.ledger) as table:
        table.execute("DELETE FROM events WHERE position = 9")
    flaws = verified(copy, capsys)
    assert ("EVENT_REMOVED", "event 9") in {(flaw["code"], flaw["where"]) for flaw in flaws}


def test_a_removed_tail_is_named(copy: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    last = read(copy).state.position
    with sqlite3.connect(copy.ledger) as table:
        table.execute("DELETE FROM events WHERE position = ?", (last,))
    flaws = verified(copy, capsys)
    assert ("LEDGER_TRUNCATED", f"event {last}") in {(f["code"], f["where"]) for f in flaws}


def test_a_replaced_artifact_is_named(copy: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = next(iter(read(copy).state.datasets))
    path = copy.objects / dataset[7:9] / dataset[9:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b"a", b"b"))
    flaws = verified(copy, capsys)
    assert {(flaw["code"], flaw["where"]) for flaw in flaws} == {("ARTIFACT_UNSOUND", dataset)}
