"""Which steps have to be carried out, in which order, and the processes that do it.

A step's folder is named by the digest of the step, its seed and all that its result depends on: a
bench that was broken off goes on, and lineages share what they have in common.
"""

import ctypes
import fcntl
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

from bench.nano import material, result
from bench.nano.lab import order
from bench.nano.material import Context
from bench.nano.result import CHECKPOINT, Result
from bench.nano.steps import Base, Exam, Node, Prompted, Sft, node

from rsi_master.core import canonical
from rsi_master.programs.nano import weights

LIMIT_SECONDS: Final = 900.0
PRELOADED: Final = ("bench.nano.lab.run", "transformers.models.qwen3.modeling_qwen3")
LOG_CHARACTERS: Final = 2000
LOCK: Final = ".lock"
_PR_SET_PDEATHSIG: Final = 1

Say = Callable[[str], None]


class Unusable(RuntimeError):
    """The work folder cannot be made or written."""


class Busy(Unusable):
    """Another process works in the folder."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A work folder and what its results depend on beside their steps."""

    work: Path
    context: Context

    @property
    def material(self) -> Path:
        """Where questions and pools lie."""
        context = self.context
        told = (context.suite, context.shared, context.drawn, str(context.items))
        digest = canonical.digest("\n".join(told).encode())
        return self.work / "material" / digest[7:23]

    def folder(self, one: Node) -> Path:
        """Where the step is carried out."""
        return self.work / "steps" / key(one, self.context)

    def result(self, one: Node) -> Result | None:
        """What the step gave, None where it was not carried out."""
        found = result.read(self.folder(one))
        return found if found and (found.step, found.seed) == (one.step, one.seed) else None

    def done(self, one: Node) -> bool:
        """Whether the step was carried out; `carry_out` judges what lies there before."""
        return (self.folder(one) / result.FILE).is_file()

    def whole(self, one: Node) -> bool:
        """Whether the step's result can be read and is its own, and its checkpoint as it was."""
        found = self.result(one)
        return found is not None and found.files == result.digests(self.folder(one))

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the work folder; raises Busy while another process does, else Unusable."""
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            lock = (self.work / LOCK).open("w")
        except OSError as cause:
            raise Unusable(
                f"bench: --work {self.work}: {cause.strerror}; name a folder that can be written"
            ) from cause
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as cause:
                raise Busy(f"bench: another bench works in {self.work}; wait for it") from cause
            yield

    def checkpoint(self, one: Node) -> Path:
        """The weights after the step; a step without training has those of its parent."""
        if isinstance(one.step, Base):
            return weights.base_folder()
        if isinstance(one.step, Prompted | Exam):
            return self.checkpoint(node(one.step.init, one.seed))
        return self.folder(one) / CHECKPOINT


def key(one: Node, context: Context) -> str:
    """The digest that names a step under a seed in this context."""
    value = {"node": one.model_dump(mode="json"), "context": context.model_dump(mode="json")}
    return canonical.digest(canonical.encode(value))[7:31]


def ordered(nodes: Iterable[Node]) -> list[Node]:
    """The nodes and all that they need, each once and after what it needs."""
    found: dict[str, Node] = {}
    for one in nodes:
        for needed in _needed(one):
            found.setdefault(needed.model_dump_json(), needed)
    return list(found.values())


def as_long(bench: Bench, one: Node) -> int | None:
    """The updates that take the CPU seconds of the step to be like, at the pace so far."""
    step = one.step
    if not isinstance(step, Sft) or step.like is None:
        return None
    before, like = (bench.result(node(parent, one.seed)) for parent in (step.init, step.like))
    if before is None or like is None:
        return None
    return max(1, round(like.cpu_seconds * before.updates / before.cpu_seconds))


def carry_out(bench: Bench, nodes: Iterable[Node], processes: int, say: Say) -> list[str]:
    """Carry out what has no result yet, `processes` at a time; what failed, and why.

    A step that fails takes only those with it that need it. Raises Busy beside another bench and
    Unusable where nothing can be kept. However the bench ends, no step outlives it.
    """
    with bench.alone():
        return _carried_out(bench, ordered(nodes), processes, say)


def _carried_out(bench: Bench, nodes: list[Node], processes: int, say: Say) -> list[str]:
    material.write(bench.material, bench.context.items)
    waiting = [one for one in nodes if not bench.whole(one)]
    for one in waiting:
        (bench.folder(one) / result.FILE).unlink(missing_ok=True)
    total, failures = len(waiting), list[str]()
    running: list[_Running] = []
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    say(f"{total} steps to carry out")
    while waiting or running:
        ready = [one for one in waiting if _ready(bench, one)]
        for one in ready[: processes - len(running)]:
            waiting.remove(one)
            running.append(_Running.start(bench, one, context))
        if not running:
            return [*failures, f"{len(waiting)} steps need one that failed"]
        for ended in _ended(running):
            running.remove(ended)
            told = ended.told(bench)
            failures += [] if bench.done(ended.node) else [told]
            say(f"{total - len(waiting) - len(running)}/{total} {told}")
    return failures


@dataclass(frozen=True, slots=True)
class _Running:
    node: Node
    folder: Path
    process: ForkServerProcess
    begun: float

    @classmethod
    def start(
        cls, bench: Bench, one: Node, context: multiprocessing.context.ForkServerContext
    ) -> "_Running":
        folder = bench.folder(one)
        folder.mkdir(parents=True, exist_ok=True)
        order.write(folder, _order(bench, one))
        process = context.Process(target=_enter, args=(str(folder),), daemon=True)
        process.start()
        return cls(one, folder, process, time.monotonic())

    def late(self) -> bool:
        return time.monotonic() - self.begun > LIMIT_SECONDS

    def told(self, bench: Bench) -> str:
        name = f"{self.node.step.kind} {self.folder.name} seed {self.node.seed}"
        found = bench.result(self.node)
        if found is None:
            log = self.folder / order.LOG
            said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else "no log"
            why = f"exit {self.process.exitcode}"
            why = f"stopped after {LIMIT_SECONDS:g} s" if self.late() else why
            return f"{name} failed ({why}) in {self.folder}:\n{said[-LOG_CHARACTERS:]}"
        average = sum(sum(p) / len(p) for p in found.points.values()) / len(found.points)
        return f"{name}: {100 * average:.1f} after {found.cpu_seconds:.1f} CPU-s"


def _enter(folder: str) -> None:
    """The process of a step; imported here, since the parent needs no training stack.

    It ends with the server that forked it, and with the bench, which the server would outlive: it
    waits for the last of its processes.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    threading.Thread(target=_end_with_the_bench, daemon=True).start()
    from bench.nano.lab import run  # noqa: PLC0415 - seconds and 400 MB, for the children alone

    run.main(Path(folder))


def _end_with_the_bench() -> None:
    """Wait until the bench is gone, however it ended, and kill this process."""
    bench = multiprocessing.parent_process()
    if bench is not None:
        bench.join()
        os.kill(os.getpid(), signal.SIGKILL)


def _ended(running: list[_Running]) -> Iterator[_Running]:
    """Wait for one process to end, and yield those that have, or were stopped as too late."""
    connection.wait([one.process.sentinel for one in running], timeout=5.0)
    for one in list(running):
        if one.late():
            one.process.kill()
            one.process.join()
        if not one.process.is_alive():
            one.process.join()
            yield one


def _needed(one: Node) -> Iterator[Node]:
    for parent in one.parents():
        yield from _needed(parent)
    yield one


def _ready(bench: Bench, one: Node) -> bool:
    return all(bench.done(parent) for parent in one.parents())


def _order(bench: Bench, one: Node) -> order.Order:
    parents = one.parents()[:1] if isinstance(one.step, Sft) else one.parents()
    inits = [bench.checkpoint(parent) for parent in parents] or [bench.checkpoint(one)]
    return order.Order(
        step=one.step,
        seed=one.seed,
        inits=tuple(path.absolute() for path in inits),
        material=bench.material.absolute(),
        updates=as_long(bench, one),
    )
