"""A finished run, changed on disk: `rsi verify` names each and exits with 1."""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from rsi_master.app import start
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import check, read
from rsi_master.core.errors import Refused
from rsi_master.core.run import ClaimOpened
from rsi_master.expos.notary import EVERY
from rsi_master.expos.notes import Note, create_key
from rsi_master.interfaces.cli import main
from rsi_master.testing.crash import agents

from .contracts import sketch


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("installation"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, home: Home) -> Path:
    runs = tmp_path_factory.mktemp("whole")
    folder = start.create(sketch(), "contract", runs, home)
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


def test_removed_notes_are_missed(copy: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(copy.notes)
    last = read(copy).state.position
    flaws = verified(copy, capsys)
    assert [(f["code"], f["where"]) for f in flaws] == [("NOTE_MISSING", f"events 0 to {last}")]


def test_what_is_left_after_a_cut_without_notes_is_nobodys_word(
    copy: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever cuts all that implies a note leaves a record that says so: it is not signed."""
    shutil.rmtree(copy.notes)
    opening = next(
        event.position for event in read(copy).events if isinstance(event.fact, ClaimOpened)
    )
    with sqlite3.connect(copy.ledger) as table:
        table.execute("DELETE FROM events WHERE position >= ?", (min(opening, EVERY - 1),))
    assert main(["verify", str(copy.path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["signed"], report["anchor"].split(":")[0]) == (0, "not signed")


def test_a_record_signed_anew_by_another_key_is_named(
    copy: RunFolder, capsys: pytest.CaptureFixture[str], tmp_path: Path, home: Home
) -> None:
    stranger = create_key(tmp_path / "other.key", "rsi-master")
    for path in copy.notes.glob("*.note"):
        note = Note.parse(path.read_text())
        path.write_text(stranger.sign(note.origin, note.size, note.root).text())
    copy.verifier_file.write_text(f"{stranger.verifier}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_HOME", str(home.root))
        assert "NOTE_WRONG_KEY" in {flaw["code"] for flaw in verified(copy, capsys)}


def test_a_changed_contract_is_refused_by_the_field_that_differs(
    copy: RunFolder, home: Home
) -> None:
    text = copy.contract_text().replace("experiments = 12", "experiments = 99")
    copy.contract_file.write_text(text)
    with pytest.raises(Refused, match=r"budget\.experiments: 99 != 12") as refused:
        start.run(copy, home)
    assert refused.value.code == "CONTRACT_CHANGED"


def test_a_replaced_artifact_is_named(copy: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = next(iter(read(copy).state.datasets))
    path = copy.objects / dataset[7:9] / dataset[9:]
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b"a", b"b"))
    flaws = verified(copy, capsys)
    assert {(flaw["code"], flaw["where"]) for flaw in flaws} == {("ARTIFACT_UNSOUND", dataset)}
