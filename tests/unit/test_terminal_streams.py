"""Standard streams that are closed, full, or that nobody reads any more."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.app.folder import RunFolder

GOLDEN = Path(__file__).parents[1] / "golden" / "dd84764"
RSI = """
import sys
from rsi_master.interfaces.cli import main
sys.exit(main(sys.argv[1:]))
"""
OWNER = """
import sys
from rsi_master.app import start
from rsi_master.app.reader import read
from rsi_master.interfaces import launch
from rsi_master.interfaces.cli import main

def run(folder, home, setting):
    record = read(folder)
    for follow in setting.followers:
        for event in record.events:
            follow(event)
    return record.state.finished

start.run, launch.follow = run, lambda folder: ()
sys.exit(main(["resume", *sys.argv[1:]]))
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A finished run, of whose artifacts nothing is left."""
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    found = RunFolder(tmp_path / "run")
    found.path.mkdir()
    for name in ("contract.toml", "run.id", "verifier.key"):
        (found.path / name).write_bytes((GOLDEN / name).read_bytes())
    store = SqliteEvents(found.ledger)
    store.append((GOLDEN / "events.jsonl").read_bytes().splitlines())
    store.close()
    return str(found.path)


@contextmanager
def unread() -> Iterator[int]:
    """The end to write to of a pipe that nobody reads."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        yield write_end
    finally:
        os.close(write_end)


def ended(code: str, *words: str, stdout: int, stderr: int = subprocess.PIPE) -> tuple[int, str]:
    """Exit code and standard error of a process."""
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, stdout=stdout, stderr=stderr, text=True, timeout=60, check=False)
    return done.returncode, done.stderr or ""


@pytest.mark.parametrize("words", ["status", "verify", "graph --dot", "status --json", "--help"])
def test_a_command_that_nobody_reads_ends_quietly(
    run: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSI_RUN", run)
    with unread() as pipe:
        assert ended(RSI, *words.split(), stdout=pipe) == (141, "")


def test_a_failure_that_nobody_reads_keeps_its_code(run: str) -> None:
    with unread() as pipe:
        assert ended(RSI, "show", "nowhere", "--run", run, stdout=pipe, stderr=pipe)[0] == 2
        assert ended(RSI, "act", "nowhere", stdout=pipe)[0] == 2


@pytest.mark.parametrize("words", ["graph", "show main", "--help"])
def test_a_full_disk_is_told_as_one(run: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSI_RUN", run)
    with Path("/dev/full").open("wb") as full:
        code, told = ended(RSI, *words.split(), stdout=full.fileno())
    assert code == 7
    assert told.startswith("rsi: DISK: ")
    assert "No space left on device; free or repair the disk" in told
    assert told.count("\n") == 1
    assert ("standard output: " in told) == (words != "--help")


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_command_may_have_no_streams_at_all(run: str, closed: str) -> None:
    script = f'exec "$@" {closed}'
    for code, words in ((RSI, ["status", run]), (OWNER, [run])):
        command = ["/bin/sh", "-c", script, "sh", sys.executable, "-c", code, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_file_never_takes_the_place_of_a_closed_stream() -> None:
    code = (
        "import os, sys\n"
        "from rsi_master.interfaces import terminal\n"
        "terminal.prepare()\n"
        "sys.exit(0 if os.open('/dev/zero', os.O_RDONLY) > 2 else 1)\n"
    )
    command = ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    assert subprocess.run(command, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_run_goes_on_without_a_reader_and_ends_with_its_own_code(
    run: str, options: list[str]
) -> None:
    with unread() as pipe:
        assert ended(OWNER, run, *options, stdout=pipe) == (0, "")
        assert ended(OWNER, run, *options, stdout=pipe, stderr=pipe)[0] == 0
