"""kill -9 at named points and at random: `resume` ends with balanced books and no orphan."""

import contextlib
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import Record, check, read
from rsi_master.core.action import Amounts
from rsi_master.core.experiment import AttemptEnded, AttemptPlanned, ExperimentEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.run import ClaimFailed, ClaimOpened, ClaimScored, RunFinished

from .contracts import created, sketch

POINTS = (
    "before:run.opened",
    "after:run.opened",
    "before:dataset.registered",
    "after:worker.created",
    "before:probe.recorded",
    "after:probe.recorded",
    "before:attempt.planned",
    "after:attempt.planned",
    "after:owner.started",
    "after:owner.started",
    "before:checkpoint.stored",
    "after:checkpoint.stored",
    "before:review.submitted",
    "before:claim.opened",
    "after:claim.opened",
    "before:claim.scored",
    "before:run.finished",
    "after:run.finished",
)
RANDOM_KILLS = 5
PATIENCE = 120
SLACK = 0.1
"""Seconds between the clocks of the test, of an owner and of the files of its jobs."""


def test_killed_at_every_named_point(tmp_path: Path) -> None:
    folder, home = created(tmp_path, sketch())
    deaths = []
    for point in POINTS:
        process = owner(folder, home, point)
        with descendants(process) as family:
            assert process.wait(PATIENCE) == -signal.SIGKILL, point
            deaths.append(time.time())
        assert gone(family), point
    assert [flaw.code for flaw in check(folder).flaws] == ["NOTE_MISSING"]
    assert owner(folder, home).wait(PATIENCE) == 0
    balanced(read(folder), deaths)
    assert any(isinstance(event.fact, ProbeRecorded) for event in read(folder).events)
    assert check(folder).flaws == ()


def test_killed_at_random(tmp_path: Path) -> None:
    folder, home = created(tmp_path, sketch())
    chance = random.Random(7)
    deaths = []
    for _ in range(RANDOM_KILLS):
        process = owner(folder, home)
        with descendants(process) as family:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(chance.uniform(0.5, 4.0))
            process.kill()
            process.wait(PATIENCE)
            deaths.append(time.time())
        assert gone(family)
    assert owner(folder, home).wait(PATIENCE) == 0
    balanced(read(folder), deaths)
    assert check(folder).flaws == ()


def owner(folder: RunFolder, home: Home, point: str | None = None) -> "subprocess.Popen[bytes]":
    """An owner in a process of its own."""
    command = [sys.executable, "-m", "rsi_master.testing.crash", str(folder.path), str(home.root)]
    return subprocess.Popen([*command, *([point] if point else [])], stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def descendants(process: "subprocess.Popen[bytes]") -> Iterator[set[int]]:
    """All processes that were seen below it, collected by a thread while the body runs."""
    import threading

    seen: set[int] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            seen.update(below(process.pid))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def below(pid: int) -> set[int]:
    """Pids below a process now."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        tasks = Path(f"/proc/{waiting.pop()}/task")
        with contextlib.suppress(OSError):
            for task in list(tasks.iterdir()):
                children = [int(word) for word in (task / "children").read_text().split()]
                found.update(children)
                waiting.extend(children)
    return found


def gone(family: set[int]) -> bool:
    """Whether all of them end within a few seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in family):
            return True
        time.sleep(0.05)
    return False


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def balanced(record: Record, deaths: Sequence[float]) -> None:
    """Nothing lost, nothing counted twice, nothing charged for the time after an owner's death."""
    state = record.state
    assert state.finished is not None
    assert state.finished.outcome == "champion"
    assert state.intents == {}
    assert state.books.held == {}
    facts = [event.fact for event in record.events]
    planned = [fact.job for fact in facts if isinstance(fact, AttemptPlanned)]
    ended = [fact.job for fact in facts if isinstance(fact, AttemptEnded)]
    assert Counter(planned) == Counter(ended)
    assert set(Counter(planned).values()) == {1}
    ends = Counter(fact.experiment for fact in facts if isinstance(fact, ExperimentEnded))
    assert ends == Counter(dict.fromkeys(state.experiments, 1))
    assert sum(isinstance(fact, ClaimOpened) for fact in facts) == 1
    assert sum(isinstance(fact, RunFinished) for fact in facts) == 1
    spent = Amounts()
    for fact in facts:
        if isinstance(fact, ExperimentEnded):
            spent = spent.plus(fact.spent)
    assert state.books.spent.experiments == spent.experiments
    attempts = sum(fact.seconds for fact in facts if isinstance(fact, AttemptEnded))
    claims = sum(f.spent.device_seconds for f in facts if isinstance(f, ClaimScored | ClaimFailed))
    probes = sum(fact.seconds for fact in facts if isinstance(fact, ProbeRecorded | ProbeFailed))
    assert state.books.spent.device_seconds == pytest.approx(attempts + claims + probes)
    began = {e.fact.job: e.at for e in record.events if isinstance(e.fact, AttemptPlanned)}
    for event in record.events:
        fact = event.fact
        if isinstance(fact, AttemptEnded) and fact.ending == "lost":
            since = began[fact.job]
            until = next((at for at in deaths if since <= at < event.at), event.at)
            assert 0 <= fact.seconds <= until - since + SLACK, fact
    assert not any(record.folder.spool.glob("*.t*")), "a job folder was left behind"
