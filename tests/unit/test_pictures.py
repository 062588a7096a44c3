"""The pictures of the README are drawn from a record alone, as of a moment of it."""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from bench import pictures
from bench.pictures import Training, moment

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record
from rsi_master.core.action import Caller, Role
from rsi_master.core.contract import parse
from rsi_master.core.errors import Misuse
from rsi_master.core.event import Event, Fact
from rsi_master.core.state import State
from rsi_master.testing import tape

CONTRACT = """
name = "told"
target = "answer <questions>"
[base]
digest = "sha256:{zeros}"
[budget]
device_seconds = 100
wall_seconds = 900
evaluations = 40
experiments = 12
[policy]
recipes = ["sft"]
sources = ["nano/direct"]
""".format(zeros="0" * 64)
MAIN = Caller(role=Role.MAIN, node="main", actor="playbook")


def submitted(name: str) -> Fact:
    return tape.queued(name, recipe={"name": "sft", "steps": 40}, rows=100)


def record(folder: Path) -> Record:
    """A run in which two trainings went side by side, with the metrics of the first."""
    lines = b"".join(b'{"step": %d, "loss": %d.5}\n' % (at, at) for at in range(1, 41))
    objects = FolderObjects(folder / "objects")
    metrics = objects.put_bytes("metrics", lines)
    told: tuple[tuple[float, Fact], ...] = (
        (0.0, tape.planned("base", stage="evaluate")),
        (1.0, tape.attempted("base", stage="evaluate")),
        (1.0, tape.evaluated("base", confirm=0.3)),
        (1.0, tape.ended("base", trials=0)),
        (2.0, tape.worker("w1")),
        (3.0, submitted("a1")),
        (4.0, submitted("a2")),
        (4.0, tape.planned("a1")),
        (6.0, tape.planned("a2")),
        (14.0, tape.attempted("a1")),
        (14.0, tape.stored("a1").model_copy(update={"metrics": metrics})),
        (15.0, tape.attempted("a2", ending="crashed")),
    )
    contract = parse(CONTRACT, "contract")
    events = tuple(
        Event(position=at, id=f"e{at}", at=100 + when, contract="c", caller=MAIN, fact=fact)
        for at, (when, fact) in enumerate(told)
    )
    return Record(RunFolder(folder), contract, State.replay(contract, events), events)


def test_the_moment_is_the_last_middle_at_which_most_trainings_run(tmp_path: Path) -> None:
    found = pictures.trainings(record(tmp_path))
    assert found == (Training("a1", 104, 114), Training("a2", 106, 115))
    assert moment(found) == 110.5
    assert moment((*found, Training("a3", 120, 130))) == 110.5
    assert moment(found[:1]) == 109
    with pytest.raises(Misuse, match="has trained nothing"):
        moment(())


def test_the_terminal_is_that_of_the_moment(tmp_path: Path) -> None:
    drawn = pictures.terminal(record(tmp_path), 109.0)
    text = " ".join(" ".join(ET.fromstring(drawn).itertext()).split())
    assert "answer <questions>" in text
    assert "step 20 of 40 (50 %) loss 20.5 5.0 s" in text, "half of the time, half of the steps"
    assert "a2 w1 training 3.0 s" in text, "no checkpoint came of it, so no metrics are kept"
    assert "opens w1 (a direction): it helps" in text
    assert "crashed" not in text, "that is still to come"


def test_what_is_drawn_fetches_nothing(tmp_path: Path) -> None:
    found = record(tmp_path)
    for drawn in (pictures.terminal(found, 109.0), pictures.figures(found)):
        assert "@font-face" not in drawn
        assert "url(http" not in drawn
        root = ET.fromstring(drawn)
        assert not [tag for tag in root.iter() if tag.tag.endswith(("image", "script"))]


def test_the_figures_are_both_of_the_report(tmp_path: Path) -> None:
    root = ET.fromstring(pictures.figures(record(tmp_path)))
    inner = [tag for tag in root.iter() if tag.get("role") == "img"]
    assert len(inner) == 2
    high = [float(tag.get("height", "")) for tag in inner]
    assert float(root.get("height", "")) > sum(high)
    width = max(float(tag.get("width", "")) for tag in inner)
    assert float(root.get("width", "")) > width


def test_a_run_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["pictures", "nothing"])
    assert pictures.main() == 2
    assert capsys.readouterr().err.startswith("bench: NO_RUN: no run 'nothing'")
