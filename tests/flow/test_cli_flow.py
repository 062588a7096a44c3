"""The command line on whole runs with the test recipe."""

import contextlib
import io
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rsi_master.adapters.store.notes import NoteFolder
from rsi_master.agents.agent import Agent
from rsi_master.agents.playbook.main import MainPlaybook
from rsi_master.agents.playbook.reviewer import ReviewerPlaybook
from rsi_master.app import start
from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import read
from rsi_master.core.making import MakingEnded
from rsi_master.core.run import ActionSettled, TurnRole
from rsi_master.interfaces import words
from rsi_master.interfaces.cli import main
from rsi_master.interfaces.ending import ending
from rsi_master.interfaces.runs import newest
from rsi_master.testing.agents import SketchWorker
from rsi_master.testing.folders import digest_of
from rsi_master.testing.page import Page
from tests.flow.contracts import sketch

QUICK: tuple[dict[str, object], ...] = ({"steps": 2}, {"steps": 3, "gain": 0.15})
SLOW = """
import sys
from rsi_master.agents.playbook.main import MainPlaybook
from rsi_master.agents.playbook.reviewer import ReviewerPlaybook
from rsi_master.app import start
from rsi_master.interfaces import words
from rsi_master.interfaces.cli import main
from rsi_master.testing.agents import SketchWorker
from rsi_master.testing.page import Page

worker = SketchWorker([{"steps": 300, "pause": 0.05}])
start.playbook = lambda: {"main": MainPlaybook(), "reviewer": ReviewerPlaybook(), "worker": worker}
sys.exit(main(sys.argv[1:]))
"""
SLOW_DISK = """
import time
from rsi_master.expos import making

def slowly(*arguments, ended=making.ended):
    time.sleep(2)
    return ended(*arguments)

making.ended = slowly
"""
ENDLESS = (
    "kind=verifier",
    "title=endless",
    "source=def verify(prompt, answer):\n    while True: pass\n",
    'tests=[{"prompt": "p", "answer": "a", "points": 1}]',
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with blanks and an umlaut, its own installation, and a finished run in it."""
    folder = tmp_path_factory.mktemp("wörk place")
    (folder / "sketch.toml").write_text(sketch(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("RSI_HOME", str(folder / "home"))
        patch.delenv("RSI_RUN", raising=False)
        patch.setattr(start, "playbook", brisk)
        code, told = said("run", "sketch.toml")
        (folder / "told.txt").write_text(told, encoding="utf-8")
        assert code == 0, told
        yield folder


def said(*words: str) -> tuple[int, str]:
    """Exit code and output of a command in this process."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(words)
    return code, out.getvalue()


def answered(*words: str) -> tuple[int, dict[str, object]]:
    """Exit code and the one JSON object of a command."""
    code, text = said(*words)
    answer = json.loads(text)
    assert isinstance(answer, dict)
    return code, answer


def run_of(place: Path) -> RunFolder:
    return newest(place / "runs")


def test_a_run_tells_its_story_and_its_end(place: Path) -> None:
    story, _, end = (place / "told.txt").read_text(encoding="utf-8").partition("\n\n")
    assert "SEALED_PROMPT 10" in story
    topics = [line.split()[1] for line in story.splitlines()]
    wanted = ["run", "scored", "data", "main", "w1", "trained", "r1", "claim"]
    assert [topic for topic in dict.fromkeys(topics) if topic in wanted] == wanted
    folder = run_of(place)
    state = read(folder).state
    assert state.finished is not None
    assert state.finished.champion is not None
    assert f"Champion {state.finished.champion[-8:]} on the holdout" in end
    assert "  base        " in end
    assert "  difference  +" in end
    note = NoteFolder(folder.notes).all()[-1][1]
    assert note.splitlines()[-1] in end
    assert f"signed head  {len(read(folder).events)} events" in end
    for command in ("report", "verify", "try"):
        assert f"  {words.program()} {command} runs/{folder.id}\n" in end
    take = next(line for line in end.splitlines() if "--out" in line)
    assert take.strip().startswith(f"{words.program()} show champion --run runs/{folder.id} ")


def test_status_shows_the_same_as_its_json(place: Path) -> None:
    code, shown = said("status")
    assert code == 0
    code, answer = answered("status", "--json")
    assert code == 0
    assert answer["standing"] == "finished"
    assert f"{answer['run']} is finished" in shown
    assert "isolation" in shown
    assert str(answer["best"])[-8:] in shown
    assert "Next:" in shown


def test_sources_of_every_kind_are_taken_and_only_those_of_use_are_explored(place: Path) -> None:
    record = read(run_of(place))
    kinds = {fact.source.origin: fact.holds for fact in record.state.datasets.values()}
    assert kinds == {
        "sketch/clean": "rows",
        "sketch/prompts": "prompts",
        "sketch/pairs": "pairs",
    }, "what the scan leaves of sketch/scraped is sketch/clean"
    given = [d for n in record.state.graph.workers() for d in getattr(n.created, "data", ())]
    assert {record.state.datasets[digest].holds for digest in given} == {"rows"}
    untried = {one.source: one.reason for one in ending(record).untried}
    for source in ("sketch/prompts", "sketch/pairs"):
        assert (
            untried[source] == f"it holds {kinds[source]}, and no recipe of the contract takes them"
        )


@pytest.mark.parametrize(
    ("source", "row"),
    [
        ("sketch/clean", r"'Q: .*\\nA:' -> ' \w+'"),
        ("sketch/prompts", r"'Q: .*\\nA:'"),
        ("sketch/pairs", r"'Q: .*\\nA:' -> ' \w+' not ' no idea'"),
    ],
)
def test_show_gives_the_kind_and_the_first_rows_of_a_dataset(
    place: Path, source: str, row: str
) -> None:
    datasets = read(run_of(place)).state.datasets
    fact = next(fact for fact in datasets.values() if fact.source.origin == source)
    shown = said("show", fact.artifact.digest)[1].splitlines()
    assert ["holds", fact.holds] in [line.split() for line in shown]
    assert any(re.fullmatch(rf"\s*row 1 +{row}", line) for line in shown)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ("w1", "worker"),
        ("r1", "review"),
        ("#0", "event"),
        ("@0", "event"),
        ("0", "event"),
        ("base", "experiment"),
        ("champion", "experiment"),
        ("main", "main"),
        ("claim", "claim"),
        ("contract", "contract"),
    ],
)
def test_show_finds_by_name_or_position(place: Path, part: str, kind: str) -> None:
    code, answer = answered("show", part, "--json")
    assert (code, answer["kind"]) == (0, kind)
    assert said("show", part)[1].startswith(f"{kind} {answer['id']}\n")


def test_show_finds_everything_by_a_part_of_its_id(place: Path) -> None:
    record = read(run_of(place))
    experiment = next(e for e in record.state.experiments.values() if e.checkpoint is not None)
    assert experiment.checkpoint is not None
    wanted = {
        experiment.id: "experiment",
        next(iter(record.state.datasets)): "dataset",
        experiment.checkpoint.artifact.digest: "artifact",
        record.contract.digest(): "contract",
    }
    for whole, kind in wanted.items():
        code, answer = answered("show", whole[7:19] if ":" in whole else whole[-8:], "--json")
        assert (code, answer["kind"], answer["id"]) == (0, kind, whole)
        assert said("show", whole)[0] == 0


def test_an_experiment_says_who_submitted_it_and_is_found_by_its_weights(place: Path) -> None:
    record = read(run_of(place))
    assert record.state.finished is not None
    champion = record.state.experiments[str(record.state.finished.champion)]
    assert champion.checkpoint is not None
    assert champion.queued is not None
    code, answer = answered("show", champion.checkpoint.proof.weights, "--json")
    assert (code, answer["id"]) == (0, champion.id)
    shown = said("show", champion.id)[1]
    assert f"by {champion.queued.worker} (worker, playbook), event @" in shown


def test_the_champion_can_be_taken_out(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = read(run_of(place))
    out = tmp_path / "my chämpion"
    code, answer = answered("show", "champion", "--out", str(out), "--json")
    assert code == 0
    assert answer["digest"] == digest_of(out)
    listed = said("show", str(answer["digest"]))[1]
    for path in out.iterdir():
        assert f"file      {path.name}  " in listed
    assert main(["show", "champion", "--out", str(out)]) == 2
    assert "EXISTS" in capsys.readouterr().err
    opened = record.state.opened
    assert opened is not None
    base = tmp_path / "base"
    assert answered("show", "base", "--out", str(base), "--json")[1]["digest"] == opened.base.digest
    assert main(["show", "w1", "--out", str(tmp_path / "nothing")]) == 2
    assert not (tmp_path / "nothing").exists()


def test_ids_of_the_screen_are_taken_by_actions(place: Path) -> None:
    state = read(run_of(place)).state
    dataset = next(iter(state.datasets))
    given = f"dataset={words.short(dataset)}"
    code, answer = answered("act", "data.inspect", given, "--as-operator")
    assert code == 0, answer
    shown = answer["answer"]
    assert isinstance(shown, dict)
    assert shown["dataset"] == dataset


def test_show_lists_candidates_of_an_ambiguous_id(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = next(name for name in read(run_of(place)).state.experiments if name != "base")
    assert main(["show", first[:6]]) == 2
    told = capsys.readouterr().err
    assert "AMBIGUOUS" in told
    assert first in told
    assert main(["show", "no such thing"]) == 2


def test_graph_shows_the_way_to_the_champion(place: Path) -> None:
    state = read(run_of(place)).state
    assert state.finished is not None
    champion = str(state.finished.champion)
    code, shown = said("graph")
    assert code == 0
    assert f"champion  base -> {champion[-8:]}" in shown
    code, answer = answered("graph", "--json")
    assert answer["champion"] == ["base", champion]
    edges = answer["edges"]
    assert isinstance(edges, list)
    assert {"source": "w1", "target": "r1", "kind": "scope"} in edges
    assert {"source": "base", "target": champion, "kind": "continues"} in edges
    assert said("graph", "--dot")[1].startswith("digraph run {")


def test_verify_finds_a_flipped_byte(place: Path, tmp_path: Path) -> None:
    code, answer = answered("verify", "--json")
    assert (code, answer["sound"], answer["flaws"]) == (0, True, [])
    assert "operator-signed only" in said("verify")[1]
    copy = tmp_path / "cöpy"
    shutil.copytree(run_of(place).path, copy)
    with contextlib.closing(sqlite3.connect(copy / "ledger.db")) as table:
        query = "select rowid, body from events order by rowid limit 1 offset 7"
        row, body = table.execute(query).fetchone()
        changed = bytes(body).replace(b"main", b"mein", 1).replace(b'"os"', b'"or"', 1)
        assert changed != bytes(body)
        table.execute("update events set body = ? where rowid = ?", (changed, row))
        table.commit()
    code, shown = said("verify", str(copy))
    assert code == 1
    assert "EVENT_ALTERED: event 7: " in shown
    assert "does not hold" in shown


def test_verify_takes_a_head_that_somebody_else_holds(place: Path, tmp_path: Path) -> None:
    held = tmp_path / "head.note"
    held.write_text(NoteFolder(run_of(place).notes).all()[-1][1], encoding="utf-8")
    code, shown = said("verify", "--note", str(held))
    assert code == 0
    assert "anchored by file" in shown


def test_a_finished_run_is_resumed_by_telling_its_end_again(place: Path) -> None:
    before = len(read(run_of(place)).events)
    code, shown = said("resume")
    assert code == 0
    assert "on the holdout" in shown
    assert len(read(run_of(place)).events) == before


def test_actions_need_a_token_and_stay_in_their_role(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answered("act", "quota.read")[1]["code"] == "NO_TOKEN"
    code, answer = answered("act", "data.list", "--as-operator")
    assert (code, answer["ok"]) == (0, True)
    run = run_of(place).id
    code, issued = said("token", run, "worker", "w1")
    assert code == 0
    monkeypatch.setenv("RSI_TOKEN", issued.strip())
    code, answer = answered("act", "worker.current")
    assert (code, answer["ok"]) == (0, True)
    code, answer = answered("act", "champion.claim", "experiment=base")
    assert (code, answer["exit"]) == (4, 4)
    monkeypatch.setenv("RSI_TOKEN", "rsi_guessed")
    assert answered("act", "worker.current")[1]["code"] == "UNKNOWN_TOKEN"
    assert main(["token", run, "worker", "w99"]) == 2


def test_readers_load_no_training_stack(place: Path) -> None:
    for command in ("status", "graph", "verify"):
        code = (
            "import sys\n"
            "from rsi_master.interfaces.cli import main\n"
            f"assert main([{command!r}]) == 0\n"
            "heavy = {'torch', 'transformers', 'trl', 'peft', 'datasets', 'scipy', 'numpy'}\n"
            "print(sorted(heavy & set(sys.modules)))\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout.splitlines()[-1] == "[]", command


def test_a_run_is_stopped_visited_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    Path("sketch.toml").write_text(sketch("slow"), encoding="utf-8")
    with owner("run", "sketch.toml") as running:
        assert answered("status", "--json")[1]["standing"] == "running"
        guided = answered("act", "run.guide", "text=small steps first", "--as-operator")
        assert guided[0] == 0, guided
        assert main(["resume"]) == 3
        assert "RUN_OWNED" in capsys.readouterr().err
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=30)
        assert running.returncode == 130, told
        assert f"go on with `{words.program()} resume " in told

    time.sleep(1.1)
    visited = answered("act", "run.guide", "text=and now larger", "--as-operator")
    assert visited[0] == 0, visited
    record = read(newest(tmp_path / "runs"))
    guidance = [given.text for given in record.state.guidance]
    assert guidance == ["small steps first", "and now larger"]
    age = record.state.at - record.events[0].at
    assert record.state.wall(record.state.at) < age - 1.0, "time without an owner is free"

    assert answered("act", "run.stop", "reason=enough", "--as-operator")[0] == 0
    code, text = said("resume", "--json")
    assert code == 1, "stopped, so there is no champion"
    *events, end = [json.loads(line) for line in text.splitlines()]
    assert end["outcome"] == "stopped"
    assert events[0]["position"] > record.state.position, "history is not told again"
    assert said("verify")[0] == 0


def test_a_stop_pays_the_job_that_an_action_waits_for_and_leaves_no_job_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner's disk is slow where the end of the job is stored, so that it is still out when the
    owner has told everybody."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    Path("sketch.toml").write_text(sketch("stopped") + "programs = 1\n", encoding="utf-8")
    with owner("run", "sketch.toml", before=SLOW_DISK) as running:
        asked = subprocess.Popen(
            [sys.executable, "-m", "rsi_master", "act", "program.add", "--as-operator", *ENDLESS],
            stdout=subprocess.DEVNULL,
        )
        folder = newest(tmp_path / "runs")
        limit = time.monotonic() + 30
        while not (list(folder.spool.glob("make-*")) and list(folder.spool.glob("*.t1"))):
            assert time.monotonic() < limit and asked.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
        assert running.returncode == 130, told
        asked.wait(30)
    record = read(folder)
    (made,) = [event.fact for event in record.events if isinstance(event.fact, MakingEnded)]
    assert made.ending == "cancelled" and made.seconds > 0
    settled = [e.fact for e in record.events if isinstance(e.fact, ActionSettled)]
    (paid,) = [fact for fact in settled if fact.intent == made.intent]
    assert (paid.outcome, paid.spent.device_seconds) == ("done", made.seconds)
    assert record.state.intents == {}
    assert [path.name for path in folder.spool.glob("*.t*")] == []
    assert [path.name for path in folder.spool.glob("make-*")] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_machine_that_ends_and_a_terminal_that_closes_stop_a_run_cleanly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    Path("sketch.toml").write_text(sketch("slow"), encoding="utf-8")
    with owner("run", "sketch.toml") as running:
        running.send_signal(number)
        _, told = running.communicate(timeout=30)
        assert running.returncode == 130, told
    assert f"stopped by {number.name}; go on with `{words.program()} resume " in told
    assert "Traceback" not in told
    assert answered("status", "--json")[1]["standing"] == "stopped half-way"
    assert said("verify")[0] == 0


def test_a_run_without_a_reader_goes_on_to_its_own_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    Path("sketch.toml").write_text(sketch(), encoding="utf-8")
    with owner("run", "sketch.toml", steps=2) as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        told = running.stderr.read()
        assert running.wait(timeout=60) in (0, 1), told
    state = read(newest(tmp_path / "runs")).state
    assert state.finished is not None
    assert running.returncode == (0 if state.finished.outcome == "champion" else 1)
    assert told.count("\n") == 1, "the run folder and nothing else"


def test_a_run_that_was_moved_goes_on_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    Path("sketch.toml").write_text(sketch("movable"), encoding="utf-8")
    with owner("run", "sketch.toml", steps=40) as running:
        running.send_signal(signal.SIGINT)
        _, said_before = running.communicate(timeout=30)
        assert running.returncode == 130, said_before
    before = newest(tmp_path / "runs")
    identity, size = before.id, len(read(before).events)
    moved = tmp_path / "another pläce" / "under another name"
    moved.parent.mkdir()
    before.path.rename(moved)

    monkeypatch.setattr(start, "playbook", brisk)
    code, told = said("resume", str(moved))
    assert code == 0, told
    record = read(RunFolder(moved))
    assert record.folder.id == identity
    assert record.state.owners == 2
    assert len(record.events) > size
    code, answer = answered("verify", str(moved), "--json")
    assert (code, answer["sound"]) == (0, True)
    assert f"verify {words.shown(moved)}" in told
    spool = record.folder.spool
    recorded = [file for file in moved.rglob("*") if file.is_file() and spool not in file.parents]
    places = [file.name for file in recorded if str(tmp_path).encode() in file.read_bytes()]
    assert (len(recorded) > 10, places) == (True, []), "no place stands in a record"


def brisk() -> dict[TurnRole, Agent]:
    """Roles whose experiments take moments."""
    worker = SketchWorker(QUICK)
    return {"main": MainPlaybook(), "reviewer": ReviewerPlaybook(), "worker": worker}


@contextlib.contextmanager
def owner(*words: str, steps: int = 300, before: str = "") -> Iterator["subprocess.Popen[str]"]:
    """A run in a process of its own, once its first experiment, of so many steps, is submitted;
    `before` is done there first."""
    with subprocess.Popen(
        [sys.executable, "-c", before + SLOW.replace("300", str(steps)), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert any("submits" in line for line in iter(process.stdout.readline, ""))
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def test_a_base_that_is_no_language_model_cannot_be_asked(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["try", str(run_of(place).path), "a"]) == 3
    told = capsys.readouterr().err
    assert told.startswith("rsi: NO_LANGUAGE_MODEL: the base of this run cannot be asked in words")
    assert told.count("\n") == 1


def test_the_report_of_a_finished_run_has_its_claim_and_its_verification(place: Path) -> None:
    folder = run_of(place)
    code, told = said("report", "--markdown", "--out", "told")
    assert (code, told) == (0, f"wrote told/{folder.id}.html\nwrote told/{folder.id}.md\n")
    page = Page(Path("told", f"{folder.id}.html").read_text(encoding="utf-8"))
    assert page.references() <= {f"#{name}" for name in page.ids()}
    end = ending(read(folder))
    assert end.champion is not None
    claim = page.by_id("claim").text()
    assert f"champion {words.short(end.champion)} {words.split(end.champion_score)}" in claim
    assert words.points(end.difference) in claim
    text = page.by_id("integrity").text()
    assert "verified while this report was written, and is whole" in text
    rows = page.by_id("lineage").all("table")[1]
    assert "Q: " in rows.text()
