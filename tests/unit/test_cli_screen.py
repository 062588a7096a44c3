import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.console import Console, ConsoleDimensions

from rsi_master.app.home import Home
from rsi_master.core.action import OS, Caller, Role
from rsi_master.core.contract import Base as PinnedBase
from rsi_master.core.contract import Budget, Contract, Policy
from rsi_master.core.errors import Refused
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import AttemptPlanned, ExperimentQueued
from rsi_master.core.graph import (
    DirectionClosed,
    ReviewRequested,
    WorkerCreated,
    WorkerFinalised,
)
from rsi_master.core.job import Tier
from rsi_master.core.run import (
    ClaimOpened,
    FinishAsked,
    OwnerStarted,
    RunFinished,
    TurnEnded,
)
from rsi_master.core.state import State
from rsi_master.interfaces import doctor, words
from rsi_master.interfaces.board import Board
from rsi_master.interfaces.narrate import narrate
from rsi_master.interfaces.progress import JsonLines, Plain, Progress, Screen
from rsi_master.interfaces.pulse import Pulse
from rsi_master.interfaces.terminal import Painted

DIGEST = "sha256:" + "3fa9c1e2" * 8
ID = "01a22c3b-d11a-700e-8593-765bcf75d462"
MAIN = Caller(role=Role.MAIN, node="main", actor="playbook")
CONTRACT = Contract(
    name="told",
    target="answer [bold]questions",
    base=PinnedBase(digest=DIGEST),
    budget=Budget(device_seconds=10, wall_seconds=90, evaluations=10, experiments=10),
    policy=Policy(sources=("nano/direct",)),
)
STORY: Sequence[Fact] = (
    OwnerStarted(resumed=False, tier="namespaces", platform="linux"),
    WorkerCreated(
        node="w1",
        direction="try direct answers",
        hypothesis="h",
        task="t",
        purpose="explore",
        predecessors=(),
        data=(),
        recipe=None,
        replicates=None,
        promotion=0,
        experiments=2,
    ),
    ExperimentQueued(
        experiment=ID,
        worker="w1",
        recipe={"name": "sft", "steps": 40},
        family="f",
        effective=DIGEST,
        init="base",
        merges=(),
        data=(),
        rows=100,
        seed=0,
        purpose="explore",
        replicates=None,
        seconds=10.0,
        intent=ID,
    ),
    AttemptPlanned(experiment=ID, stage="train", fence=1, job="job-1", spec=None),
)


def events(story: Sequence[Fact] = STORY, caller: Caller = OS) -> list[Event]:
    return [
        Event(position=at, id=ID, at=100.0 + at, contract=DIGEST, caller=caller, fact=fact)
        for at, fact in enumerate(story)
    ]


def state() -> State:
    return State.replay(CONTRACT, events())


def printed(board: Board) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(board.render())
    text = console.file.getvalue()  # type: ignore[attr-defined]
    return str(text)


def spool(folder: Path, metrics: str) -> Pulse:
    out = folder / "job-1" / "out"
    out.mkdir(parents=True)
    (out / "metrics.jsonl").write_text(metrics, encoding="utf-8")
    return Pulse(folder)


def test_the_board_shows_directions_jobs_and_what_is_left(tmp_path: Path) -> None:
    pulse = spool(tmp_path, '{"step": 9}\n{"step": 10, "loss": 1.5}\n{"step": 11, "lo')
    text = printed(Board("told", CONTRACT, state(), 145.0, pulse))
    assert "answer [bold]questions" in text, "text of a contract is no markup"
    assert "45 s used, 45 s left" in text
    assert "try direct answers" in text
    assert "step 10 of 40 (25 %)" in text


@pytest.mark.parametrize(
    ("tiers", "told", "warned"),
    [
        (("namespaces",), "jobs run under 'namespaces'", False),
        (("none",), "jobs run under 'none'", True),
        (("namespaces", "none"), "jobs run under 'none'", True),
        (("none", "namespaces"), "jobs run under 'namespaces', the weakest so far is 'none'", True),
    ],
)
def test_the_board_tells_the_isolation_of_this_owner_and_the_weakest(
    tmp_path: Path, tiers: tuple[Tier, ...], told: str, warned: bool
) -> None:
    facts = [OwnerStarted(resumed=True, tier=tier, platform="linux") for tier in tiers]
    then = State.replay(CONTRACT, events(facts))
    text = printed(Board("told", CONTRACT, then, 5.0, Pulse(tmp_path)))
    (line,) = [one for one in text.splitlines() if "isolation" in one]
    assert line.split("isolation")[1].strip() == told
    assert ("NOT ISOLATED" in text) == warned


@pytest.mark.parametrize("metrics", ["", "no json\n", '{"loss": 1}\n', "[1]\n", '{"step": -1}\n'])
def test_metrics_without_a_step_are_no_progress(tmp_path: Path, metrics: str) -> None:
    pulse = spool(tmp_path, metrics)
    assert pulse.beat(state().experiments[ID], 145.0) is None


def test_a_job_that_has_written_nothing_is_no_progress(tmp_path: Path) -> None:
    assert Pulse(tmp_path).beat(state().experiments[ID], 145.0) is None


@pytest.mark.parametrize(
    ("metrics", "told"),
    [
        ('{"step": 8, "loss": 0.51234, "reward": null}', ["step 8 of 40 (20 %)", "loss 0.512"]),
        ('{"step": 8, "loss": 0.5, "reward": 0.25}', ["step 8 of 40 (20 %)", "reward 0.25"]),
        ('{"step": 7, "loss": 2}\n{"step": 8, "loss": NaN}', ["step 7 of 40 (17 %)", "loss 2"]),
        ('{"step": 99}', ["step 40 of 40 (100 %)"]),
    ],
)
def test_a_job_tells_its_step_its_reward_or_loss_and_its_time(
    tmp_path: Path, metrics: str, told: list[str]
) -> None:
    text = printed(Board("told", CONTRACT, state(), 145.0, spool(tmp_path, f"{metrics}\n")))
    (row,) = (line for line in text.splitlines() if "training" in line)
    assert re.split(r"  +", row.strip()) == ["cf75d462", "w1", "training", *told, "42 s"]


CLOSED = DirectionClosed(node="w1", reason="r1: another direction\nis better")
CHOICES: Sequence[tuple[Fact, str]] = (
    (STORY[1], "opens w1 (try direct answers): h"),
    (ReviewRequested(node="r1", question="which?", scope=("w1", "w2")), "asks r1 to review w1, w2: "
     "which?"),
    (CLOSED, "closes w1: r1: another direction is better"),
    (ClaimOpened(experiment=ID, intent="i", name="n"), "claims cf75d462 and opens the holdout: it "
     "ranks first of what was verified"),
    (FinishAsked(reason="the claim is scored"), "finishes: the claim is scored"),
)  # fmt: skip


@pytest.mark.parametrize(("fact", "told"), CHOICES)
def test_the_board_tells_the_last_decision_of_main_and_its_reason(
    tmp_path: Path, fact: Fact, told: str
) -> None:
    now = State.replay(CONTRACT, events((*STORY[:3], fact), MAIN))
    assert now.choice == fact
    text = printed(Board("told", CONTRACT, now, 145.0, Pulse(tmp_path)))
    assert f"Main       {told}" in [line.rstrip() for line in text.splitlines()]


def test_what_another_decided_in_mains_place_is_no_decision_of_main() -> None:
    now = State.replay(CONTRACT, [*events(STORY[:3], MAIN), *events((CLOSED,))])
    assert now.choice == STORY[1]


def test_the_last_decision_takes_two_lines_at_most(tmp_path: Path) -> None:
    long = CLOSED.model_copy(update={"reason": "since it is beaten on every task " * 9})
    now = State.replay(CONTRACT, events((*STORY[:3], long), MAIN))
    text = low(Board("told", CONTRACT, now, 145.0, Pulse(tmp_path)), 80, 24)
    first = next(at for at, line in enumerate(text) if line.startswith("Main"))
    assert text[first].startswith("Main       closes w1: since it is beaten")
    assert text[first + 1].startswith("           ")
    assert text[first + 1].rstrip().endswith(" …")
    assert not text[first + 2].strip()


def low(board: Board, width: int, height: int) -> list[str]:
    """The lines of a board on a terminal of that size."""
    console = Console(file=io.StringIO(), width=width, height=height)
    lines = console.render_lines(board.render(ConsoleDimensions(width, height)))
    return ["".join(part.text for part in line) for line in lines]


def test_progress_tells_only_what_is_new() -> None:
    stream = io.StringIO()
    with Progress(Plain(stream), CONTRACT, start=1) as progress:
        for event in events():
            progress(event)
    lines = stream.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["main", "w1"]
    assert lines[0].startswith("    1.0s")


def test_json_lines_are_the_recorded_events() -> None:
    stream = io.StringIO()
    with Progress(JsonLines(stream), CONTRACT, start=0) as progress:
        for event in events():
            progress(event)
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["type"] for event in told] == [fact.type for fact in STORY]


def test_a_closed_pipe_does_not_hold_the_run_up() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with Progress(Plain(Closed()), CONTRACT, start=0) as progress:
        for event in events():
            progress(event)


def test_the_story_stays_on_the_terminal_and_the_board_goes(tmp_path: Path) -> None:
    file = io.StringIO()
    console = Painted(file, width=80, height=24, force_terminal=True)
    screen = Screen(console, "told", CONTRACT, Pulse(tmp_path))
    now = State.under(CONTRACT)
    failed = TurnEnded(order="o", node="w1", outcome="failed", detail="too late")
    for event in events((*STORY, failed)):
        now.apply(event)
        screen.show(event, narrate(event, now))
        screen.refresh(now)
    assert file.getvalue().rfind("\x1b[?25l") < file.getvalue().rfind("\x1b[?25h"), (
        "it has a cursor"
    )
    assert not seen(file.getvalue(), keep=True)[-1], "which rests below the board"
    screen.close()
    left = seen(file.getvalue())
    heads = [line.split()[1] for line in left if not line.startswith(" " * 20)]
    assert heads == ["run", "main", "w1", "turn"]
    assert left[-1].endswith("w1 failed: too late")


def seen(written: str, keep: bool = False) -> list[str]:
    """The lines that remain on a terminal, blank ones if wanted: what is erased or written over is
    gone."""
    lines, row = [""], 0
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)", written):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[1A":
            row -= 1
        elif part == "\x1b[2K":
            lines[row] = ""
        elif not part.startswith(("\x1b", "\r")):
            lines[row] += part
    return [line.rstrip() for line in lines if keep or line.strip()]


def crowded(*more: Fact) -> State:
    """Sixty directions and twenty jobs."""
    created, queued = STORY[1:3]
    assert isinstance(created, WorkerCreated)
    assert isinstance(queued, ExperimentQueued)
    many = [
        created.model_copy(update={"node": f"w{at}", "direction": "a long direction " * 20})
        for at in range(1, 61)
    ]
    jobs = [queued.model_copy(update={"experiment": f"e{at:02}"}) for at in range(20)]
    return State.replay(CONTRACT, events((STORY[0], *many, *jobs, *more), MAIN))


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (80, 14), (60, 24)])
def test_the_board_fits_the_terminal_and_keeps_the_newest(
    tmp_path: Path, width: int, height: int
) -> None:
    text = low(Board("told", CONTRACT, crowded(), 200.0, Pulse(tmp_path)), width, height)
    assert height - 2 <= len(text) <= height
    assert any(line.startswith("clock  ") for line in text)
    assert any(line.startswith("Main  ") for line in text)
    assert any(line.startswith("w60 ") for line in text)
    assert any(line.startswith("e19 ") for line in text)
    assert not any(line.startswith("w1 ") for line in text)


def test_where_room_is_scarce_what_is_active_and_what_runs_stay(tmp_path: Path) -> None:
    over = (
        WorkerFinalised(node=f"w{at}", summary="done", cites=(), best=None, by=f"w{at}")
        for at in range(2, 61)
    )
    runs = AttemptPlanned(experiment="e03", stage="train", fence=1, job="j", spec=None)
    text = low(Board("told", CONTRACT, crowded(*over, runs), 200.0, Pulse(tmp_path)), 80, 24)
    for name in ("w1 ", "w60 ", "e03 ", "e19 "):
        assert any(line.startswith(name) for line in text), name
    assert not any(line.startswith("w2 ") for line in text)


def test_a_finished_run_has_no_time_left_and_nothing_running(tmp_path: Path) -> None:
    over = RunFinished(outcome="stopped", champion=None, reason="enough")
    done = State.replay(CONTRACT, events((*STORY, over)))
    text = printed(Board("told", CONTRACT, done, 145.0, Pulse(tmp_path), "finished"))
    assert "used" in text
    assert " left" not in text
    assert "running" not in text


def test_doctor_refuses_where_a_part_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_name: str) -> Path:
        raise Refused("BASE_MISSING", "base 'nano' is not installed; installed: ")

    home = Home(tmp_path / "home")
    healthy = doctor.examine(home, tmp_path / "runs")
    assert not home.root.exists(), "looking changes nothing"
    assert "sketch (of rsi-test-plugin)" in healthy.text()
    assert {check.name for check in healthy.checks} >= {"python", "isolation", "disk", "recipes"}
    monkeypatch.setattr("rsi_master.app.plugins.base_folder", missing)
    ill = doctor.examine(home, tmp_path / "runs")
    assert not ill.ready
    assert "missing  bases" in ill.text()
    assert "would be refused" in ill.text()


def test_doctor_tells_of_a_prepared_base_that_was_damaged(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert "smollm2 (after `rsi base add smollm2`)" in doctor.examine(home, tmp_path).text()
    home.base("smollm2").mkdir(parents=True)
    health = doctor.examine(home, tmp_path)
    assert "smollm2 (damaged: `rsi base add smollm2` says how to repair it)" in health.text()
    assert health.ready, "another base is there"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.04, "0.0 s"), (9.96, "10 s"), (119, "119 s"), (125, "2 min 5 s"), (12_000, "3 h 20 min")],
)
def test_times_read_well(value: float, text: str) -> None:
    assert words.seconds(value) == text


def test_paths_can_be_pasted_into_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert words.shown(tmp_path / "runs" / "demo") == "runs/demo"
    assert words.shown(tmp_path / "my rüns") == "'my rüns'"


def test_ids_are_shortened_to_the_part_that_tells_them_apart() -> None:
    assert words.short(ID) == "cf75d462"
    assert words.short(DIGEST) == "3fa9c1e2"
    assert words.short("base") == "base"
