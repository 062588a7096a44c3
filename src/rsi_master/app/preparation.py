"""The program that prepares a base: how it is started, and what its end means (docs/adr/0008)."""

import ctypes
import json
import os
import signal
import subprocess
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

from rsi_master.core.errors import Broken, Refused, RsiError

SECONDS = 1800.0
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
}
_ERRORS: dict[int, type[RsiError]] = {kind.exit_code: kind for kind in (Refused, Broken)}
_CHARACTERS = 300
_PR_SET_PDEATHSIG = 1


def run(point: EntryPoint, draft: Path, python: str) -> None:
    """Run the package's program; raises what its end means."""
    name = point.name
    try:
        ended = subprocess.run(
            [python, "-I", "-m", point.value, str(draft)],
            env=_ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
            check=False,
            preexec_fn=_tied(),
        )
    except subprocess.TimeoutExpired as cause:
        again = f"run `rsi base add {name}` again on a quieter machine"
        raise Broken("BASE_FAILED", f"preparing {name} took over {SECONDS:g} s; {again}") from cause
    except OSError as cause:
        told = f"preparing {name}: {python} cannot be started: {cause.strerror}"
        raise Broken("BASE_FAILED", f"{told}; repair the installation") from cause
    if ended.returncode != 0:
        raise _failure(name, ended.returncode, ended.stderr.decode(errors="replace"))


def _tied() -> Callable[[], None]:
    """What the child does before its program, which may be a foreign one: die with its parent."""
    parent, prctl = os.getpid(), ctypes.CDLL(None).prctl

    def tie() -> None:
        prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)

    return tie


def _failure(name: str, status: int, errors: str) -> RsiError:
    """The program's reason if its last line is one, else how it ended."""
    lines = errors.strip().splitlines() or [""]
    if status < 0:
        return Broken("BASE_FAILED", _killed(name, -status, lines[0][:_CHARACTERS]))
    try:
        told = json.loads(lines[-1])
        code, message = str(told["code"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        said = lines[-1][:_CHARACTERS] or "it said nothing"
        code, message = "BASE_FAILED", f"preparing {name}: exit status {status}: {said}"
    return _ERRORS.get(status, Broken)(code, message)


def _killed(name: str, number: int, first: str) -> str:
    """Tells of the first line, where a program can say what it needs; later ones are progress."""
    short = number == signal.SIGKILL
    ended = f"preparing {name} was ended by signal {number} ({signal.strsignal(number)})"
    why = f"{ended}, as when memory runs out" if short else ended
    said = f"; it began with: {first}" if first else ""
    fix = "free memory, then " if short else ""
    return f"{why}{said}; {fix}run `rsi base add {name}` again"
