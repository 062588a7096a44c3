"""A job with an agent's program beside it: asked over a line, and never in the job's process."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rsi_master.adapters.sandbox.isolation import probe
from rsi_master.core.errors import Refused
from rsi_master.core.job import Ending, Job
from rsi_master.core.warm import JobTier
from rsi_master.testing.bench import Bench, processes_of

HELD = {one.tier: one for one in probe()}
CONFINING: tuple[JobTier, ...] = ("namespaces", "landlock")
LENGTH = "def reward(episode):\n    return min(1, len(episode['answer']) / 4)\n"
HOLD = """
import os
import signal
def reward(episode):
    tried = {
        'file': lambda: open('/etc/passwd'), 'fork': os.fork, 'kill': lambda: os.kill(-1, 0),
        'input': lambda: os.listdir('../in'), 'out': lambda: open('out/x', 'w'),
    }
    done = []
    for name, attempt in tried.items():
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
    raise ValueError(f'{done} {sorted(os.listdir("in"))}')
"""


@pytest.fixture(scope="module", params=CONFINING)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    found = HELD[request.param]
    if not found.held:
        pytest.skip(f"{found.tier} does not hold here: {found.reason}")
    made = Bench(found.tier, tmp_path_factory.mktemp("judged"))
    yield made
    made.engine.close()
    assert processes_of(os.getpid()) == set()


def said(bench: Bench, job: Job) -> list[Any]:
    """What the judge said to a job that ended well."""
    status = bench.end(job)
    assert (status.ending, status.detail, status.tier) == ("ok", "", bench.tier)
    return [json.loads(line) if line else None for line in bench.result(job)["said"]]


def test_a_job_asks_its_judge(bench: Bench) -> None:
    job = bench.judged(LENGTH, "", "ab", "abcdef")
    assert said(bench, job) == [{"points": [0.0]}, {"points": [0.5]}, {"points": [1.0]}]


def test_two_jobs_have_a_judge_each(bench: Bench) -> None:
    jobs = [
        bench.judged(
            f"N = []\ndef reward(episode):\n    N.append(1)\n    return len(N) / {of}\n", *"ab"
        )
        for of in (2, 4)
    ]
    for job in jobs:
        bench.engine.submit(job)
    for job in jobs:
        assert bench.until_ended(job.name).ending == "ok"
    found = [[json.loads(line)["points"] for line in bench.result(job)["said"]] for job in jobs]
    assert found == [[[0.5], [1.0]], [[0.25], [0.5]]]


def test_an_error_of_the_program_is_an_answer(bench: Bench) -> None:
    (answer,) = said(bench, bench.judged("def reward(episode):\n    return 1 / 0\n", "a"))
    assert answer["failure"] == {
        "row": None,
        "line": 2,
        "error": "ZeroDivisionError: division by zero",
    }
    (answer,) = said(bench, bench.judged("x = (", "a"))
    assert answer["failure"]["line"] == 1


def test_a_judge_reaches_nothing(bench: Bench) -> None:
    (answer,) = said(bench, bench.judged(HOLD, "a"))
    assert answer["failure"]["error"] == "ValueError: [] ['program.json']"


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos._exit(0)\n",
        "import ctypes\nctypes.string_at(0)\n",
        "import os\ndef reward(episode):\n    os._exit(1)\n",
        "import os\ndef reward(episode):\n    os.closerange(0, 99)\n",
    ],
)
def test_a_judge_that_ends_is_silent_and_ends_nothing_else(bench: Bench, source: str) -> None:
    job = bench.judged(source, "a", "b")
    status = bench.end(job)
    assert (status.ending, status.tier) == ("ok", bench.tier)
    assert set(bench.result(job)["said"]) <= {"", "BrokenPipeError", "ConnectionResetError"}


@pytest.mark.parametrize(
    ("program", "ending"), [("beat", "cancelled"), ("exit_three", "crashed"), ("hang", "timeout")]
)
def test_a_judge_ends_with_its_job(bench: Bench, program: str, ending: Ending) -> None:
    job = bench.judged("while True: pass\n", seconds=1.0).model_copy(update={"program": program})
    bench.engine.submit(job)
    if ending == "cancelled":
        bench.until_beating(job.name)
        bench.engine.cancel(job.name)
    assert bench.until_ended(job.name).ending == ending
    limit = time.monotonic() + 10
    while any(map(_is_cold, processes_of(os.getpid()))):
        assert time.monotonic() < limit, "a judge outlives its job"
        time.sleep(0.01)


def test_a_job_whose_judge_is_lost_is_lost_as_well(bench: Bench) -> None:
    job = bench.judged(LENGTH).model_copy(update={"program": "beat"})
    bench.engine.submit(job)
    bench.until_beating(job.name)
    for pid in filter(_is_cold, processes_of(os.getpid())):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    status = bench.until_ended(job.name)
    assert status.ending == "lost"
    assert "judge" in status.detail


def _is_cold(pid: int) -> bool:
    try:
        return "programs/code" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_without_walls_no_job_has_a_judge(tmp_path_factory: pytest.TempPathFactory) -> None:
    bench = Bench("none", tmp_path_factory.mktemp("none"))
    with pytest.raises(Refused, match="needs the tier 'namespaces' or 'landlock'"):
        bench.engine.submit(bench.judged(LENGTH, "a"))
    bench.engine.close()
