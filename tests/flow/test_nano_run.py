"""The whole system on the embedded base with real trainings, killed three times on its way."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.plugins import base_folder
from rsi_master.app.reader import Record, check, read
from rsi_master.core.run import ClaimScored
from rsi_master.core.score import Scored, SplitScore
from rsi_master.testing.folders import digest_of

from .contracts import created
from .test_crash import balanced, below, descendants, gone

PATIENCE = 600
BEYOND_THE_BASE = ("sums", "chain", "facts")


def contract() -> str:
    """Two directions of one experiment each: the shortest run in which every role has its turn."""
    return f"""
name = "nano"
target = "solve sums, chains, facts, calls, code, lists and remedies"

[base]
name = "nano"
digest = "{digest_of(base_folder("nano"))}"

[evaluator]
benchmark = "nano"
dev = 20
confirm = 80
holdout = 80

[budget]
device_seconds = 2000
wall_seconds = 3600
evaluations = 40
experiments = 6

[research]
experiments_per_worker = 1

[policy]
recipes = ["sft"]
sources = ["nano/direct", "nano/scratchpad"]
attempts_per_experiment = 6
"""


@pytest.mark.slow
def test_three_kills_while_it_really_trains(tmp_path: Path) -> None:
    folder, home = created(tmp_path, contract())
    death = owner_is_killed(folder, home)
    process = owner(folder, home)
    with descendants(process) as family:
        kill_job(folder, process.pid)
        kill_sealed(folder, process.pid)
        assert process.wait(PATIENCE) == 0
    assert gone(family)
    record = read(folder)
    balanced(record, (death,))
    assert check(folder).flaws == ()
    endings = [
        a.ended.ending for e in record.state.experiments.values() for a in e.attempts if a.ended
    ]
    assert endings.count("lost") + endings.count("killed") >= 2
    champion_learnt_what_the_base_cannot(record)
    every_role_had_its_turn(record)


def owner(folder: RunFolder, home: Home) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "rsi_master", "resume", str(folder.path)]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**os.environ, "RSI_HOME": str(home.root)}
    )


def owner_is_killed(folder: RunFolder, home: Home) -> float:
    """Kill an owner that trains; when it was dead."""
    process = owner(folder, home)
    with descendants(process) as family:
        until(lambda: training(folder) is not None, process)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        death = time.time()
    assert gone(family), "the owner is dead and something of it lives"
    return death


def kill_job(folder: RunFolder, owner_pid: int) -> None:
    """Kill the process whose job folder is being trained in: it has the deepest place below."""
    until(lambda: training(folder) is not None and jobs_of(owner_pid) != [], None)
    for pid in jobs_of(owner_pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_sealed(folder: RunFolder, owner_pid: int) -> None:
    before = sealed_of(owner_pid)
    assert before, "the sealed process runs"
    for pid in before:
        os.kill(pid, signal.SIGKILL)


def jobs_of(owner_pid: int) -> list[int]:
    """Processes below the warm parent."""
    parents = [pid for pid in below(owner_pid) if "programs.jobs.warm" in command_of(pid)]
    children = [inner for pid in parents for inner in below(pid)]
    return sorted(set(children))


def sealed_of(owner_pid: int) -> list[int]:
    return [pid for pid in below(owner_pid) if "programs.sealed" in command_of(pid)]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def training(folder: RunFolder) -> Path | None:
    """A job folder with a heartbeat."""
    return next(iter(folder.spool.glob("*.t*/out/metrics.jsonl")), None)


def until(holds: Callable[[], bool], process: "subprocess.Popen[bytes] | None") -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None, "the owner ended too early"
        time.sleep(0.02)


def champion_learnt_what_the_base_cannot(record: Record) -> None:
    """That it is better on average is what exit code 0 says; by how much, the seed of its training
    and the draw move by 2 points each way, of some 7.

    The base gives no right answer to these tasks (0 of 300 in bench.nano); after 200 steps on
    either pool 7 to 19 in 100 are right (14 trainings at rates around the playbook's). Of 240 items
    that is 17 or more, and the bound of 7 lies over two deviations below.
    """
    claimed = record.state.claimed
    assert isinstance(claimed, ClaimScored)
    assert share(claimed.result.base, BEYOND_THE_BASE) <= 0.02
    assert share(claimed.result.champion, BEYOND_THE_BASE) >= 0.03


def share(found: SplitScore, tasks: tuple[str, ...]) -> float:
    """The mean over tasks, all of them scored."""
    scores = [score for task in tasks if isinstance(score := found.tasks[task], Scored)]
    assert len(scores) == len(tasks)
    return fmean(score.value for score in scores)


def every_role_had_its_turn(record: Record) -> None:
    nodes = {event.caller.node for event in record.events}
    assert {"main", "w1", "w2", "r1", "w3", "os"} <= nodes
    verified = [
        e for e in record.state.experiments.values() if e.queued and e.queued.purpose == "verify"
    ]
    assert {e.queued.seed for e in verified if e.queued} == {1009}
    # A row may hold a sealed question or a long sealed answer by chance: it goes, hardly any other.
    for dataset in record.state.datasets.values():
        assert set(dataset.dropped) <= {"SEALED_PROMPT", "SEALED_ANSWER"}
        assert dataset.rows >= 0.99 * dataset.offered
