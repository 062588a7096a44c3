"""A cold process runs one job of agents' code: it is told which, confines itself, and then reads
the program.

It speaks as a warm parent does (`core/warm.py`), in JSON of its own since it has no libraries. Two
processes: the watcher outside waits, kills on order or when the owner is gone, and reports; the one
inside, which can make no other, runs the program.
"""

import argparse
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from rsi_master.programs.confinement import (
    Confinement,
    ConfinementError,
    Inside,
    confine,
    hand_over,
    kernel,
    packages_inside,
    standard_library,
)

TOLD: Final = ("made.jsonl", "result.json")
"""All that a job of agents' code may write, each up to the ceiling of a file."""
_LINE_BYTES = 64 * 1024
_DETAIL_CHARACTERS = 2000
_STANDARD = (0, 1, 2)

Runner = Callable[..., int]
"""Of the folder, the descriptors of TOLD, and for a judge that of its line."""


def main() -> None:
    """Take one order and carry it out."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--owner", type=int, required=True)
    options = parser.parse_args()
    kernel.prctl("cold process", kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != options.owner:
        sys.exit(1)
    control = socket.socket(fileno=options.control)
    _tell(control, kind="ready", seconds=0.0)
    order, link = _order(control)
    if order.get("kind") == "run":
        _run(order, control, tuple(link))


def _order(control: socket.socket) -> tuple[Mapping[str, Any], list[int]]:
    """The first line, empty when the owner has gone; and what came beside it, the line over which
    a judge is asked."""
    received, link = b"", list[int]()
    while not received.endswith(b"\n") and len(received) <= _LINE_BYTES:
        more, descriptors, _, _ = socket.recv_fds(control, _LINE_BYTES, 1)
        link += descriptors
        if not more:
            return {}, link
        received += more
    found: Mapping[str, Any] = json.loads(received)
    return found, link


def _run(order: Mapping[str, Any], control: socket.socket, link: tuple[int, ...]) -> NoReturn:
    name = order["name"]
    try:
        _tell(control, kind="forked", name=name, pid=os.getpid())
        _confine_and_run(order, control, link)
    except ConfinementError as error:
        _refuse(control, name, str(error))
    except BaseException as error:  # noqa: BLE001 - told to the owner: nothing of the program ran
        _refuse(control, name, f"before the program: {error!r}")
    finally:
        os._exit(1)


def _confine_and_run(
    order: Mapping[str, Any], control: socket.socket, link: tuple[int, ...]
) -> None:
    name, plan = order["name"], _plan(order)
    runner = _runner(order["entry"])
    hand_over(plan.folder, None)
    outputs = (*_outputs(plan.folder / "out"), *link)

    def watch(job: int) -> NoReturn:
        for descriptor in outputs:
            os.close(descriptor)
        _watch(job, name, control)

    inside = confine(plan, (*_STANDARD, control.fileno(), *outputs), watch)
    _tell(control, kind="entered", name=name)
    control.close()
    os._exit(_call(runner, inside, outputs))


def _plan(order: Mapping[str, Any]) -> Confinement:
    cage = order["cage"]
    if cage["tier"] not in ("namespaces", "landlock"):
        raise ConfinementError(f"tier {cage['tier']}", "a wall around agents' code", 0)
    return Confinement(
        tier=cage["tier"],
        folder=Path(order["folder"]),
        readable=standard_library(),
        covered=packages_inside(),
        user=cage["user"],
        memory_bytes=cage["memory_mib"] << 20,
        processes=cage["processes"],
        file_bytes=cage["file_mib"] << 20,
        cpu_seconds=cage["cpu_seconds"],
        scratch_bytes=1 << 20,
        alone=True,
    )


def _runner(entry: str) -> Runner:
    """The function `module:name`, imported now: inside there is nothing to import it from."""
    module, _, name = entry.partition(":")
    found: Runner = getattr(importlib.import_module(module), name)
    return found


def _outputs(out: Path) -> tuple[int, ...]:
    """Fresh files, open for what runs inside, which can open none; a log for what it prints."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW
    log, *told = (os.open(out / name, flags, 0o644) for name in ("log.txt", *TOLD))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    return tuple(told)


def _call(runner: Runner, inside: Inside, outputs: tuple[int, ...]) -> int:
    try:
        return runner(inside.folder, *outputs)
    except BaseException as error:  # noqa: BLE001 - the process ends here, and its code says how
        os.write(2, f"{type(error).__name__}\n".encode())
        return 1


def _watch(job: int, name: str, control: socket.socket) -> NoReturn:
    """Wait for the job. Whatever comes from the owner, or its end, kills it."""
    poll = select.poll()
    poll.register(os.pidfd_open(job), select.POLLIN)
    poll.register(control, select.POLLIN)
    if control.fileno() in {descriptor for descriptor, _ in poll.poll()}:
        os.kill(job, signal.SIGKILL)
    _, status = os.waitpid(job, 0)
    signalled = os.WIFSIGNALED(status)
    code = os.WTERMSIG(status) if signalled else os.WEXITSTATUS(status)
    outcome = "signalled" if signalled else "exited"
    _tell(control, kind="ended", name=name, outcome=outcome, code=code)
    os._exit(0)


def _refuse(control: socket.socket, name: str, detail: str) -> None:
    detail = detail[:_DETAIL_CHARACTERS]
    _tell(control, kind="ended", name=name, outcome="refused", code=0, detail=detail)


def _tell(control: socket.socket, **notice: object) -> None:
    try:
        # Once confined, nothing may be sent over a socket; a short line is written in one piece.
        os.write(control.fileno(), json.dumps(notice).encode() + b"\n")
    except OSError as gone:
        print(f"the owner does not listen: {gone}", file=sys.stderr)
