"""The warm parent: imports the training stack once, then forks a confined child for each job.

Started as `python -I -m rsi_master.programs.jobs.warm --control FD --owner PID --preload a,b` with
an almost empty environment. It has one thread, does no tensor work and opens no device. It ends
with its owner and takes all children along.
"""

import argparse
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rsi_master.core.warm import (
    LINE_BYTES,
    ORDER,
    Ended,
    Entered,
    Failed,
    Forked,
    Kill,
    Notice,
    Ready,
    Run,
    line,
)
from rsi_master.programs.confinement import covered_modules, kernel
from rsi_master.programs.jobs import child

_DETAIL_CHARACTERS = 2000


@dataclass
class _Child:
    name: str
    pid: int
    link: socket.socket
    buffer: bytearray = field(default_factory=bytearray)
    last: child.Report | None = None


class WarmParent:
    """Serves one owner over one socket; the name of a job is free again when it has ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._buffer = bytearray()
        self._links: list[int] = []
        self._children: dict[str, _Child] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)

    def serve(self) -> None:
        """Carry out orders until the owner closes its end; then kill all that runs."""
        serving = True
        while serving:
            for key, _ in self._selector.select():
                if key.data is None:
                    serving = self._read_orders()
                else:
                    self._read_reports(key.data)
        for one in list(self._children.values()):
            self._bury(one)

    def tell(self, notice: Notice) -> None:
        """Send a notice to the owner."""
        self._control.sendall(line(notice))

    def _read_orders(self) -> bool:
        received, links, _, _ = socket.recv_fds(self._control, LINE_BYTES, 1)
        self._buffer += received
        self._links += links
        while (end := self._buffer.find(b"\n")) >= 0:
            order = ORDER.validate_json(bytes(self._buffer[:end]))
            del self._buffer[: end + 1]
            if isinstance(order, Run):
                self._fork(order)
            else:
                self._kill(order)
        if len(self._buffer) > LINE_BYTES:
            raise ValueError(f"an order exceeds {LINE_BYTES} bytes")
        return bool(received)

    def _fork(self, order: Run) -> None:
        judge = self._links.pop(0) if order.linked else None
        if order.name in self._children:
            return
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            child.run(order, theirs, judge)
        theirs.close()
        if judge is not None:
            os.close(judge)
        started = _Child(order.name, pid, ours)
        self._children[order.name] = started
        self._selector.register(ours, selectors.EVENT_READ, started)
        self.tell(Forked(name=order.name, pid=pid))

    def _kill(self, order: Kill) -> None:
        found = self._children.get(order.name)
        if found is not None:
            _kill_group(found.pid)

    def _read_reports(self, one: _Child) -> None:
        received = one.link.recv(LINE_BYTES)
        one.buffer += received
        while (end := one.buffer.find(b"\n")) >= 0:
            report = child.Report.model_validate_json(bytes(one.buffer[:end]))
            del one.buffer[: end + 1]
            if report.state == "entered":
                self.tell(Entered(name=one.name))
            elif one.last is None:
                one.last = report
        if not received:
            self._selector.unregister(one.link)
            self._bury(one)
            self.tell(_ended(one))

    def _bury(self, one: _Child) -> None:
        """Kill what is left of the group and reap it: orphans of a group come to this process."""
        _kill_group(one.pid)
        os.waitpid(one.pid, 0)
        while _reap(one.pid):
            continue
        one.link.close()
        del self._children[one.name]


def _kill_group(group: int) -> None:
    """Kill the group, and its leader in case it has not made the group yet."""
    for kill in (os.killpg, os.kill):
        try:
            kill(group, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _reap(group: int) -> bool:
    try:
        os.waitpid(-group, 0)
    except ChildProcessError:
        return False
    return True


def _ended(one: _Child) -> Ended:
    report = one.last
    if report is None:
        return Ended(name=one.name, outcome="signalled", code=signal.SIGKILL)
    if report.state == "refused":
        detail = report.detail[:_DETAIL_CHARACTERS]
        return Ended(name=one.name, outcome="refused", code=0, detail=detail)
    if report.state == "signalled":
        return Ended(name=one.name, outcome="signalled", code=report.code)
    return Ended(name=one.name, outcome="exited", code=report.code)


def _preload(names: Sequence[str]) -> None:
    """Import the modules and settle what a confined child could not find out any more."""
    for name in names:
        importlib.import_module(name)
    covered = covered_modules()
    if covered:
        raise RuntimeError(
            f"preloading brought {covered[0]} into the memory of jobs, which must not have it; "
            "keep what a recipe imports apart from its benchmark"
        )
    torch = sys.modules.get("torch")
    if torch is not None:
        # Reads /proc/cpuinfo; a child that finds another capability computes other bits.
        torch.backends.cpu.get_cpu_capability()
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise RuntimeError(f"preloading left {threads} threads; forks of it would not be safe")
    gc.collect()
    gc.freeze()


def main(arguments: Sequence[str] | None = None) -> int:
    """Preload, say ready, serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--control", type=int, required=True)
    parser.add_argument("--owner", type=int, required=True)
    parser.add_argument("--preload", default="")
    options = parser.parse_args(arguments)
    kernel.prctl("warm parent", kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl("warm parent", kernel.PR_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != options.owner:
        return 1
    parent = WarmParent(socket.socket(fileno=options.control))
    start = time.monotonic()
    try:
        _preload([name for name in options.preload.split(",") if name])
    except Exception as error:  # noqa: BLE001 - told to the owner, who names the next step
        detail = f"{type(error).__name__}: {error}"
        parent.tell(Failed(detail=detail[:_DETAIL_CHARACTERS]))
        return 1
    parent.tell(Ready(seconds=time.monotonic() - start))
    parent.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
