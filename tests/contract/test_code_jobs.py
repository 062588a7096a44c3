"""Agents' code in the cold process of the local engine: what it gives, and what it cannot do."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rsi_master.adapters.sandbox.isolation import probe
from rsi_master.adapters.sandbox.parent import Parent
from rsi_master.core.errors import Refused
from rsi_master.core.job import Ending
from rsi_master.core.warm import Cage, Ended, JobTier, Notice, Run
from rsi_master.testing.bench import Bench, processes_of, until_gone

HELD = {one.tier: one for one in probe()}
CONFINING: tuple[JobTier, ...] = ("namespaces", "landlock")
ROW = {"prompt": "a", "completion": "b"}

# Each name with an expression that must fail; the program answers which of them did not.
HOSTILE = {
    "read a file": "open('/etc/passwd').read()",
    "read a file by its own path": "open({secret!r}).read()",
    "list a folder of the run": "os.listdir({base!r})",
    "read the package": "open({package!r}).read()",
    "import a package": "__import__('pydantic')",
    "create in out": "open('out/more', 'w')",
    "link in out": "os.symlink('/etc/passwd', 'out/link')",
    "write the result anew": "open('out/result.json', 'w')",
    "write a temporary file": "open('/tmp/rsi-code-probe', 'w')",
    "write shared memory": "open('/dev/shm/rsi-code-probe', 'w')",
    "write its input": "open('in/input.jsonl', 'w')",
    "fork": "os.fork()",
    "start a thread": "threading.Thread(target=print).start()",
    "start a program": "subprocess.run(['/bin/true'])",
    "become a program": "os.execv(sys.executable, ['python'])",
    "internet socket": "socket.create_connection(('127.0.0.1', {port}), 1)",
    "datagram socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "path socket": "socket.socket(socket.AF_UNIX)",
    "signal the owner": "os.kill({owner}, 0)",
    "signal everybody": "os.kill(-1, 0)",
    "signal by a descriptor": "fcntl.fcntl(os.pipe()[1], fcntl.F_SETOWN, os.getpid())",
    "signal of its choice": "fcntl.fcntl(os.pipe()[1], 10, 9)",
    "limits by process": "resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)",
    "priority": "os.setpriority(os.PRIO_PROCESS, 0, 1)",
    "processors": "os.sched_setaffinity(0, [0])",
    "memory that is a file": "os.memfd_create('x')",
    "much memory": "bytearray(1 << 30)",
    "change a mode": "os.chmod('out/made.jsonl', 0o777)",
    "environment of the owner": "open('/proc/{owner}/environ').read()",
    "its own memory": "open('/proc/self/mem', 'r+b')",
    "another namespace": "1 / (ctypes.CDLL(None).unshare(0x10000000) + 1)",
}
SURVEY = """
import ctypes, fcntl, os, resource, socket, subprocess, sys, threading

ATTEMPTS = {attempts}

def succeeds(attempt):
    try:
        eval(attempt)
    except (OSError, ImportError, MemoryError, RuntimeError, ZeroDivisionError):
        return False
    return True

def transform(row):
    held = sorted(os.readlink(f"/proc/self/fd/{{one}}").rsplit("/", 1)[-1] for one in range(9)
                  if os.path.exists(f"/proc/self/fd/{{one}}"))
    done = [name for name, attempt in ATTEMPTS.items() if succeeds(attempt)]
    environment = open("/proc/self/environ").read()
    return {{"prompt": repr(done), "completion": f"{{os.getuid()}} {{held}} {{environment!r}}"}}
"""

# An owner of its own, that is killed while its program loops.
OWNER = """
import sys, time
from pathlib import Path
from rsi_master.testing.bench import Bench
bench = Bench(sys.argv[2], Path(sys.argv[1]))
job = bench.code("transform", "print('on', flush=True)\\nwhile True: pass", {"prompt": "a"})
bench.engine.submit(job)
log = bench.engine.output(job.name) / "log.txt"
while not (log.exists() and log.read_text()):
    time.sleep(0.01)
print("running", flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module", params=CONFINING)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    found = HELD[request.param]
    if not found.held:
        pytest.skip(f"{found.tier} does not hold here: {found.reason}")
    made = Bench(found.tier, tmp_path_factory.mktemp("code"))
    yield made
    assert until_gone(os.getpid()) == set()
    made.engine.close()


def made(bench: Bench, kind: str, source: str, *lines: object) -> tuple[list[Any], Any]:
    """The lines and the result of a program that came to its end."""
    job = bench.code(kind, source, *lines)
    status = bench.end(job)
    assert (status.ending, status.detail, status.tier) == ("ok", "", bench.tier)
    text = (bench.engine.output(job.name) / "made.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()], bench.result(job)


def test_each_kind_answers_each_line(bench: Bench) -> None:
    rows, result = made(
        bench,
        "transform",
        "import re\ndef transform(row):\n    return [row] * len(re.findall('x', row['prompt']))\n",
        {"prompt": "xx"},
        {"prompt": "-"},
    )
    assert rows == [{"row": 0, "made": [{"prompt": "xx"}] * 2}, {"row": 1, "made": []}]
    assert result == {"done": 2, "failures": []}
    verify = "def verify(prompt, answer):\n    return None if prompt == '?' else answer == '4'\n"
    asks = [{"prompt": p, "answer": a, "known": None} for p, a in (("2+2", "4"), ("?", "4"))]
    points, _ = made(bench, "verifier", verify, *asks)
    assert points == [{"row": 0, "points": [1.0]}, {"row": 1, "points": [None]}]
    pair = {"prompt": "2+2", "chosen": "4", "rejected": "5"}
    points, _ = made(bench, "verifier", verify, pair, {"prompt": "2+2"})
    assert points == [{"row": 0, "points": [1.0, 0.0]}, {"row": 1, "points": []}]
    reward = (
        "def reward(episode):\n    return 0.5 if episode['known'] in episode['answer'] else 0\n"
    )
    points, _ = made(bench, "reward", reward, {"prompt": "p", "answer": "is 4", "known": "4"})
    assert points == [{"row": 0, "points": [0.5]}]


def test_the_same_program_makes_the_same_of_the_same_rows(bench: Bench) -> None:
    source = (
        "import random\n"
        "def transform(row):\n"
        "    return {'prompt': ' '.join(set(row['prompt'])), 'completion': str(random.random())}\n"
    )
    line = {"prompt": "abcdefghij"}
    assert made(bench, "transform", source, line) == made(bench, "transform", source, line)


def test_an_error_is_told_with_line_and_row_and_few_of_them(bench: Bench) -> None:
    source = "def transform(row):\n    return {'prompt': row['q']}\n"
    rows, result = made(bench, "transform", source, *[{"prompt": "a"}] * 9)
    assert rows == []
    told = [{"row": at, "line": 2, "error": "KeyError: 'q'"} for at in range(3)]
    assert result == {"done": 0, "failures": told}


@pytest.mark.parametrize(
    ("source", "line", "error"),
    [
        ("x = (\n", 1, "SyntaxError: '(' was never closed (program.py, line 1)"),
        ("x = 1\n", None, "AttributeError: module 'program' has no attribute 'transform'"),
        ("import numpy\n", 1, "ModuleNotFoundError: No module named 'numpy'"),
        ("raise SystemExit(0)\n", 1, "SystemExit: 0"),
        ("def transform(row):\n    transform(row)\n", 2, "RecursionError"),
        ("def transform(row):\n    return bytearray(1 << 30)\n", 2, "MemoryError"),
        ("def transform(row):\n    return {'prompt': 1}\n", None, "prompt = int; fields are texts"),
        ("def transform(row):\n    return {'text': 'a'}\n", None, "['text']; its keys are"),
        ("def transform(row):\n    return 'a'\n", None, "gave str; give a row"),
    ],
)
def test_whatever_a_program_does_wrong_is_told(
    bench: Bench, source: str, line: int | None, error: str
) -> None:
    _, result = made(bench, "transform", source, ROW)
    (failure,) = result["failures"]
    assert failure["line"] == line
    assert error in failure["error"]


def test_a_hostile_program_reaches_nothing(bench: Bench) -> None:
    secret = bench.base / "secret.txt"
    secret.write_text("secret")
    secret.chmod(0o666)
    known = {
        "secret": str(secret),
        "base": str(bench.base),
        "package": json.__file__.replace("json/__init__", "rsi_master") + str(secret),
        "port": 1,
        "owner": os.getpid(),
    }
    attempts = {name: attempt.format(**known) for name, attempt in HOSTILE.items()}
    rows, _ = made(bench, "transform", SURVEY.format(attempts=attempts), ROW)
    (row,) = rows[0]["made"]
    assert row["prompt"] == "[]"
    uid, rest = row["completion"].split(" ", 1)
    assert uid != "0"
    told = ["input.jsonl", "log.txt", "log.txt", "made.jsonl", "null", "result.json"]
    assert rest == f"{told} 'PYTHONHASHSEED=0\\x00'"
    assert secret.read_text() == "secret"


@pytest.mark.parametrize(
    ("body", "ending", "detail"),
    [
        ("os._exit(0)", "crashed", "exit code 0 without out/result.json"),
        ("os.closerange(3, 99)", "crashed", "exit code 1: OSError"),
        ("os.closerange(0, 99); os._exit(3)", "crashed", "exit code 3"),
        ("os.abort()", "killed", "signal"),
        ("ctypes.string_at(0)", "killed", "signal 11"),
        ("while True: pass", "timeout", "over its limit of 1 s"),
        ("time.sleep(60)", "timeout", "over its limit of 1 s"),
    ],
)
def test_a_program_that_ends_its_process_ends_nothing_else(
    bench: Bench, body: str, ending: Ending, detail: str
) -> None:
    source = f"import ctypes, os, time\ndef transform(row):\n    {body}\n"
    job = bench.code("transform", source, ROW, seconds=1.0)
    status = bench.end(job)
    assert status.ending == ending
    assert detail in status.detail
    assert until_gone(os.getpid()) == set()


def test_output_without_end_is_cut_at_the_ceiling_of_two_files(bench: Bench) -> None:
    source = (
        "import os\n"
        "def transform(row):\n"
        "    block = b'x' * (1 << 20)\n"
        "    for descriptor in (1, 1, *range(3, 9)):\n"
        "        try:\n"
        "            while True: os.write(descriptor, block)\n"
        "        except OSError: pass\n"
    )
    job = bench.code("transform", source, ROW)
    assert bench.end(job).ending == "crashed"
    sizes = {path.name: path.stat().st_size for path in bench.engine.output(job.name).iterdir()}
    assert sizes == dict.fromkeys(("log.txt", "made.jsonl", "result.json"), 64 << 20)


def test_what_is_cancelled_is_gone(bench: Bench) -> None:
    job = bench.code("transform", "while True: pass\n", ROW)
    bench.engine.submit(job)
    bench.engine.cancel(job.name)
    assert bench.until_ended(job.name).ending == "cancelled"
    assert until_gone(os.getpid()) == set()


@pytest.mark.parametrize("tier", CONFINING)
def test_nothing_outlives_a_killed_owner(tmp_path: Path, tier: JobTier) -> None:
    if not HELD[tier].held:
        pytest.skip(f"{tier} does not hold here: {HELD[tier].reason}")
    command = [sys.executable, "-c", OWNER, str(tmp_path), tier]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "running\n"
        assert len(processes_of(owner.pid)) == 2
        owner.kill()
        owner.wait(10)
        assert until_gone(owner.pid) == set()


@pytest.mark.parametrize(
    ("tier", "missing", "step"),
    [
        ("none", "", "confinement step 'tier none' failed"),
        ("namespaces", "in", "confinement step 'bind"),
        ("landlock", "in", "confinement step 'landlock"),
    ],
)
def test_what_cannot_be_confined_does_not_run(
    tmp_path: Path, tier: JobTier, missing: str, step: str
) -> None:
    if not HELD[tier].held:
        pytest.skip(f"{tier} does not hold here: {HELD[tier].reason}")
    folder = tmp_path / "job"
    for name in {"in", "out"} - {missing}:
        (folder / name).mkdir(parents=True)
    (folder / "job.json").write_text("{}")
    parent = Parent.cold(sys.executable, tmp_path / "cold.log")
    user = 60_650 if os.getuid() == 0 else None
    order = Run(
        name="a.1",
        folder=str(folder),
        entry="rsi_master.programs.code.runner:run",
        cage=Cage(tier=tier, user=user),
    )
    notices: list[Notice] = []
    while (heard := parent.notices()) is not None:
        notices += heard
        if [one.kind for one in notices] == ["ready"]:
            parent.run(order)
    parent.end()
    ended = next(one for one in notices if isinstance(one, Ended))
    assert (ended.outcome, ended.detail.startswith(step)) == ("refused", True), ended
    assert "entered" not in {one.kind for one in notices}
    told = [path for path in (folder / "out").iterdir() if path.stat().st_size]
    assert told == []


def test_without_walls_no_code_runs(tmp_path: Path) -> None:
    bench = Bench("none", tmp_path)
    with pytest.raises(Refused, match="needs the tier 'namespaces' or 'landlock'"):
        bench.engine.submit(bench.code("transform", "", ROW))
    assert bench.engine.free_devices() == 2
    bench.engine.close()


def test_a_recipe_is_no_code(bench: Bench) -> None:
    job = bench.job("echo").model_copy(update={"job_class": "code"})
    with pytest.raises(Refused, match="of class 'code': echo is 'recipe'"):
        bench.engine.submit(job)
