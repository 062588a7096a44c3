"""How the program of a prepared base may end: refused, crashed, killed, with its parent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rsi_master.app import bases, preparation
from rsi_master.app.home import Home
from rsi_master.core.errors import Broken, Refused, RsiError
from rsi_master.interfaces.cli import main
from rsi_master.testing.programs import interpreter

NAME = "smollm2"
AGAIN = f"run `rsi base add {NAME}` again"
STARTS = "(draft / 'model.safetensors').write_bytes(bytes(1000))\n"
PATIENCE = 30.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def program(folder: Path, body: str) -> str:
    """An interpreter that has begun to write the base when it runs `body`."""
    return interpreter(folder, STARTS + body)


def drafts(home: Home) -> list[Path]:
    return [path for path in (home.root / "bases").iterdir() if path.name != bases.LOCK]


def reason(**told: object) -> str:
    """Words on standard error, and a last line that is the reason."""
    return f"print('noise', file=sys.stderr); print({json.dumps(told)!r}, file=sys.stderr)\n"


@pytest.mark.parametrize(
    ("status", "kind"), [(3, Refused), (7, Broken), (1, Broken), (2, Broken), (6, Broken)]
)
def test_the_last_line_is_the_reason_and_two_exit_codes_keep_their_meaning(
    tmp_path: Path, home: Home, status: int, kind: type[RsiError]
) -> None:
    body = reason(code="BASE_PACKAGE", message="pip install it") + f"sys.exit({status})"
    with pytest.raises(RsiError, match=r"^pip install it$") as caught:
        bases.add(NAME, home, program(tmp_path, body))
    assert (type(caught.value), caught.value.code) == (kind, "BASE_PACKAGE")
    assert drafts(home) == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("1 / 0", "exit status 1: ZeroDivisionError: division by zero"),
        ("sys.exit(5)", "exit status 5: it said nothing"),
        ("sys.stderr.buffer.write(b'caf\\xe9 failed\\n'); sys.exit(7)", "status 7: caf. failed"),
        (reason(code="BASE_PACKAGE") + "sys.exit(3)", 'exit status 3: {"code": "BASE_PACKAGE"}'),
        ("print('[1]', file=sys.stderr); sys.exit(3)", r"exit status 3: \[1\]"),
    ],
)
def test_an_end_without_a_reason_is_told_by_status_and_last_line(
    tmp_path: Path, home: Home, body: str, told: str
) -> None:
    with pytest.raises(RsiError, match=f"preparing {NAME}: .*{told}") as caught:
        bases.add(NAME, home, program(tmp_path, body))
    assert caught.value.code == "BASE_FAILED"
    assert drafts(home) == []


def test_a_program_that_was_killed_is_told_by_its_signal_and_what_it_needed(
    tmp_path: Path, home: Home
) -> None:
    body = "print('this takes 3 GB', 'progress', sep='\\n', file=sys.stderr, flush=True)\n"
    with pytest.raises(Broken) as caught:
        bases.add(NAME, home, program(tmp_path, f"{body}os.kill(os.getpid(), 9)"))
    assert caught.value.message == (
        f"preparing {NAME} was ended by signal 9 (Killed), as when memory runs out; "
        f"it began with: this takes 3 GB; free memory, then {AGAIN}"
    )
    with pytest.raises(Broken, match=rf"by signal 11 \(Segmentation fault\); {AGAIN}"):
        bases.add(NAME, home, program(tmp_path, "os.kill(os.getpid(), 11)"))
    assert drafts(home) == []


def test_a_program_that_does_not_end_or_start_is_told(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Broken, match="/nonexistent/python cannot be started: No such file"):
        bases.add(NAME, home, "/nonexistent/python")
    monkeypatch.setattr(preparation, "SECONDS", 0.2)
    with pytest.raises(Broken, match=f"took over 0.2 s; {AGAIN}"):
        bases.add(NAME, home, program(tmp_path, "time.sleep(60)"))
    assert drafts(home) == []


def begun(tmp_path: Path) -> tuple[subprocess.Popen[str], int]:
    """`rsi base add` in a process of its own, and the pid of its program, which is at work."""
    note = tmp_path / "pid"
    body = f"Path({str(note)!r}).write_text(f'{{os.getpid()}}.')\ntime.sleep(60)"
    code = (
        f"import signal, sys; sys.executable = {program(tmp_path, body)!r}\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job ignores it
        "from rsi_master.interfaces.cli import main\n"
        f"sys.exit(main(['base', 'add', {NAME!r}]))"
    )
    environment = {**os.environ, "RSI_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", code]
    adding = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while not (note.exists() and note.read_text().endswith(".")) and time.monotonic() < end:
        time.sleep(0.02)
    return adding, int(note.read_text()[:-1])


def ended(pid: int) -> bool:
    """Whether the process is gone, or dead and waits to be reaped, within the patience."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_ends_the_program_and_leaves_nothing(
    tmp_path: Path, home: Home, number: signal.Signals
) -> None:
    adding, pid = begun(tmp_path)
    adding.send_signal(number)
    _, told = adding.communicate(timeout=PATIENCE)
    assert adding.returncode == 130
    first, second = told.splitlines()
    assert first == f"preparing base {NAME}, which may take minutes"
    assert second.startswith("rsi: INTERRUPTED: stopped, nothing was added; run `")
    assert second.endswith(f"base add {NAME}` again")
    assert ended(pid)
    assert drafts(home) == []


def test_a_killed_parent_takes_the_program_along_and_its_draft_goes_with_the_next_add(
    tmp_path: Path, home: Home
) -> None:
    adding, pid = begun(tmp_path)
    adding.kill()
    adding.communicate(timeout=PATIENCE)
    assert ended(pid)
    assert [path.name[:7] for path in drafts(home)] == [bases.DRAFT]
    with pytest.raises(Broken):
        bases.add(NAME, home, program(tmp_path, "sys.exit(1)"))
    assert drafts(home) == []


def test_a_base_that_is_there_is_only_checked(
    tmp_path: Path,
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RSI_HOME", str(home.root))
    home.base(NAME).mkdir(parents=True)
    before = signal.getsignal(signal.SIGTERM)
    assert main(["base", "add", NAME]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"checking base {NAME}"
    assert second.startswith("rsi: BASE_DAMAGED: ")
    assert signal.getsignal(signal.SIGTERM) == before
