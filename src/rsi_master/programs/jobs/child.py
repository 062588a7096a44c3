"""One job in a child of the warm parent: confine, run the program, report how it went.

Two processes: the watcher outside the namespaces waits and reports; the job inside runs. They and
all they start form one process group, which the watcher kills when the warm parent is gone.
"""

import importlib
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NoReturn

from rsi_master.core.model import Value
from rsi_master.core.warm import JUDGE_DESCRIPTOR, Run
from rsi_master.programs.confinement import (
    Confinement,
    ConfinementError,
    Inside,
    confine,
    covered_paths,
    hand_over,
    python_paths,
)

_STANDARD = (0, 1, 2)


class Report(Value):
    """What a child tells the warm parent; the job's end of the line is closed before it runs."""

    state: Literal["entered", "refused", "exited", "signalled"]
    code: int = 0
    detail: str = ""


def run(order: Run, link: socket.socket, judge: int | None = None) -> NoReturn:
    """Carry out the order in this freshly forked process and end it; `judge` is the line to one."""
    try:
        _confine_and_run(order, link, () if judge is None else (judge,))
    except ConfinementError as error:
        _send(link, Report(state="refused", detail=str(error)))
    except BaseException as error:  # noqa: BLE001 - nothing may unwind into the warm parent's loop
        _send(link, Report(state="refused", detail=f"before the program: {error!r}"))
    finally:
        os._exit(1)


def _confine_and_run(order: Run, link: socket.socket, judge: tuple[int, ...]) -> None:
    plan = _plan(order)
    hand_over(plan.folder, plan.user)
    _redirect(plan.folder / "out" / "log.txt", plan.user)

    def watch(job: int) -> NoReturn:
        for descriptor in judge:
            os.close(descriptor)
        _watch(job, link)

    inside = confine(plan, (*_STANDARD, link.fileno(), *judge), watch)
    _set_environment(inside, order.visible_gpus)
    _send(link, Report(state="entered"))
    link.close()
    for descriptor in judge:
        os.dup2(descriptor, JUDGE_DESCRIPTOR)
        if descriptor != JUDGE_DESCRIPTOR:
            os.close(descriptor)
    os._exit(_call(order.entry, inside.folder))


def _plan(order: Run) -> Confinement:
    cage = order.cage
    readable = python_paths()
    devices: tuple[Path, ...] = ()
    if order.visible_gpus:
        # The CUDA runtime answers error 304 without a readable /sys.
        readable = (*readable, Path("/sys"))
        devices = tuple(path for path in Path("/dev").glob("nvidia*") if not path.is_dir())
    return Confinement(
        tier=cage.tier,
        folder=Path(order.folder),
        readable=readable,
        covered=covered_paths(),
        user=cage.user,
        # CUDA reserves address space far beyond what it uses.
        memory_bytes=None if order.visible_gpus else cage.memory_mib << 20,
        processes=cage.processes,
        file_bytes=cage.file_mib << 20,
        cpu_seconds=cage.cpu_seconds,
        devices=devices,
    )


def _redirect(log: Path, user: int | None) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    if user is not None and os.geteuid() == 0:
        os.fchown(target, user, user)
    os.dup2(null, 0)
    os.dup2(target, 1)
    os.dup2(target, 2)


def _set_environment(inside: Inside, gpus: tuple[str, ...]) -> None:
    os.environ["TMPDIR"] = str(inside.scratch)
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(gpus)
    tempfile.tempdir = None


def _call(entry: str, folder: Path) -> int:
    """Run `module:function` on the folder; the exit code, with a traceback on stderr if not 0."""
    try:
        module, _, name = entry.partition(":")
        program: Callable[[Path], object] = getattr(importlib.import_module(module), name)
        program(folder)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - a program's failure is its own: recorded
        traceback.print_exc()
        return 1
    else:
        return 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _watch(job: int, link: socket.socket) -> NoReturn:
    """Wait for the job; kill the group, this process included, when the warm parent is gone."""
    poll = select.poll()
    poll.register(os.pidfd_open(job), select.POLLIN)
    poll.register(link, select.POLLIN)
    if link.fileno() in {descriptor for descriptor, _ in poll.poll()}:
        os.killpg(0, signal.SIGKILL)
    _, status = os.waitpid(job, 0)
    if os.WIFSIGNALED(status):
        _send(link, Report(state="signalled", code=os.WTERMSIG(status)))
    else:
        _send(link, Report(state="exited", code=os.WEXITSTATUS(status)))
    os._exit(0)


def _send(link: socket.socket, report: Report) -> None:
    link.sendall(report.model_dump_json().encode() + b"\n")
