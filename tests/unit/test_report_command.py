"""`rsi report` on a run as an older version recorded and signed it."""

import contextlib
import io
import json
from pathlib import Path

import pytest

from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import read
from rsi_master.expos.notes import create_key
from rsi_master.interfaces import words
from rsi_master.interfaces.cli import main
from rsi_master.interfaces.ending import ending
from rsi_master.testing.page import Page

GOLDEN = Path(__file__).parents[1] / "golden" / "dd84764"


def said(*arguments: str) -> tuple[int, str]:
    """Exit code and output of a command in this process."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(arguments)
    return code, out.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """The recorded run under another name; of its artifacts nothing is left."""
    monkeypatch.chdir(tmp_path)
    found = RunFolder(tmp_path / "moved run")
    found.notes.mkdir(parents=True)
    for name in ("contract.toml", "run.id", "verifier.key"):
        (found.path / name).write_bytes((GOLDEN / name).read_bytes())
    bodies = (GOLDEN / "events.jsonl").read_bytes().splitlines()
    (found.notes / f"{len(bodies):012}.note").write_bytes((GOLDEN / "head.note").read_bytes())
    store = SqliteEvents(found.ledger)
    store.append(bodies)
    store.close()
    return found


def test_the_report_of_a_recorded_run_has_its_numbers(folder: RunFolder) -> None:
    assert said("report", "moved run") == (0, "wrote 'reports/moved run.html'\n")
    page = Page(Path("reports/moved run.html").read_text(encoding="utf-8"))
    end = ending(read(folder))
    claim = page.by_id("claim").text()
    for told in (
        words.split(end.base_score),
        words.split(end.champion_score),
        words.points(end.difference),
    ):
        assert told in claim
    assert page.references() <= {f"#{name}" for name in page.ids()}
    assert str(folder.path.parent) not in page.root.text()


def test_every_cited_event_is_the_one_of_that_position(folder: RunFolder) -> None:
    said("report", "moved run", "--out", "out")
    page = Page(Path("out/moved run.html").read_text(encoding="utf-8"))
    cited = [tag for tag in page.by_id("events").all("tr") if "id" in tag.attributes]
    assert len(cited) > 10
    for row in cited:
        position = row.attributes["id"].removeprefix("event-")
        event = json.loads(said("show", f"@{position}", "--run", "moved run", "--json")[1])["event"]
        told = [cell.text() for cell in row.all() if cell.name in ("td", "th")]
        assert (told[0], told[2], told[4]) == (f"event {position}", event["type"], event["id"])


def test_a_record_without_its_artifacts_does_not_hold(folder: RunFolder) -> None:
    assert said("report", "moved run", "--markdown")[0] == 0
    page = Page(Path("reports/moved run.html").read_text(encoding="utf-8"))
    text = page.by_id("integrity").text()
    assert "The record does not hold." in text
    assert "ARTIFACT_UNSOUND" in text
    assert page.by_id("verdict").text().startswith("Verdict The record does not hold : ")
    assert "ARTIFACT\\_UNSOUND" in Path("reports/moved run.md").read_text(encoding="utf-8")


def test_reading_a_run_of_another_installation_makes_it_none_of_this_one(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    home.prepare()
    create_key(home.key, "another")
    monkeypatch.setenv("RSI_HOME", str(home.root))
    home.lock(folder.id)  # makes the folder that asking for a living owner leaves
    assert said("report", "moved run")[0] == 0
    text = Page(Path("reports/moved run.html").read_text(encoding="utf-8")).root.text()
    assert "as the folder itself says" in text
    assert "NOTE_WRONG_KEY" not in text


def test_reading_leaves_the_run_as_it_was(folder: RunFolder) -> None:
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    said("report", "moved run", "--out", "out")
    after = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    assert before.items() <= after.items()
    assert {path.name for path in after.keys() - before.keys()} <= {
        "ledger.db-shm",
        "ledger.db-wal",
    }


def test_a_place_that_cannot_be_written_is_named(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("", encoding="utf-8")
    assert said("report", "moved run", "--out", "file")[0] == 2
    assert "rsi: UNWRITABLE: file cannot be written" in capsys.readouterr().err
