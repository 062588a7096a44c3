"""A bench for the contract suite of the compute port: an engine, its objects, and waiting."""

import json
import time
from pathlib import Path
from typing import Any

from rsi_master.adapters.compute.devices import cpu_slots
from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.job import Input, Job, JobStatus, Program, Resources
from rsi_master.core.ports import Compute
from rsi_master.core.warm import JobTier
from rsi_master.domains.data.running import PROGRAMS as CODE
from rsi_master.testing import programs
from rsi_master.testing.compute import FakeCompute

_SECONDS = 30.0
_POLL_SECONDS = 0.01


def program(name: str) -> Program:
    """One of the tiny programs."""
    return Program(entry=f"{programs.__name__}:{name}")


PROGRAMS = {
    name: program(name)
    for name in (
        "echo",
        "exit_three",
        "fail",
        "no_result",
        "beat",
        "hang",
        "fork_and_hang",
        "leave_link",
        "survey",
        "pry",
        "raise_memory",
        "big_file",
        "ask",
    )
}


class Bench:
    """An engine with two CPU slots under `base`, or with `cards`; `tier` None means the fake."""

    def __init__(self, tier: JobTier | None, base: Path, cards: tuple[str, ...] = ()) -> None:
        self.base = base / "späce d"
        self.base.mkdir()
        self.tier: JobTier = tier or "none"
        self.objects = FolderObjects(self.base / "objects")
        self.engine = self._engine(tier, cards)
        self._count = 0

    def _engine(self, tier: JobTier | None, cards: tuple[str, ...]) -> Compute:
        spool, known = self.base / "spool", {**PROGRAMS, **CODE}
        if tier is None:
            return FakeCompute(spool, self.objects, known, cards=cards)
        devices = cards or cpu_slots(2)
        return LocalCompute(spool, self.objects, known, devices=devices, tier=tier)

    def job(self, name: str, config: dict[str, object] | None = None, **resources: float) -> Job:
        """A job of a tiny program under a fresh name."""
        self._count += 1
        limits = Resources.model_validate({"seconds": 20.0, **resources})
        fresh = f"{name}-{self._count}.1"
        return Job(name=fresh, program=name, config=config or {}, resources=limits)

    def code(self, kind: str, source: str, *lines: object, **resources: float) -> Job:
        """A job of agents' code: a program of that kind over these lines."""
        job = self.job("code", {}, memory_mib=256, **resources)
        rows = "".join(json.dumps(line) + "\n" for line in lines)
        program = json.dumps({"kind": kind, "source": source})
        texts = {"program.json": program, "input.jsonl": rows}
        inputs = tuple(
            Input(name=name, digest=self.objects.put_bytes("dataset", text.encode()).digest)
            for name, text in texts.items()
        )
        return job.model_copy(update={"job_class": "code", "runtime": "core", "inputs": inputs})

    def judged(self, source: str, *answers: str, **resources: float) -> Job:
        """A job that puts answers to a reward beside it."""
        program = json.dumps({"kind": "reward", "source": source}).encode()
        digest = self.objects.put_bytes("program", program).digest
        job = self.job("ask", {"answers": list(answers)}, **resources)
        return job.model_copy(update={"judge": digest})

    def end(self, job: Job) -> JobStatus:
        """Submit it and wait for its end."""
        self.engine.submit(job)
        return self.until_ended(job.name)

    def until_ended(self, name: str) -> JobStatus:
        """Wait for the end of a job."""
        limit = time.monotonic() + _SECONDS
        while self.engine.poll(name).state == "running":
            assert time.monotonic() < limit, f"{name} does not end"
            self.engine.wait(0.5)
        return self.engine.poll(name)

    def until_beating(self, name: str) -> None:
        """Wait until a job has shown a sign of life."""
        metrics = self.engine.output(name) / "metrics.jsonl"
        limit = time.monotonic() + _SECONDS
        while not metrics.exists():
            assert time.monotonic() < limit, self.engine.poll(name)
            time.sleep(_POLL_SECONDS)

    def result(self, job: Job) -> Any:
        """What the job left as its result: JSON of the tiny program's own making."""
        return json.loads((self.engine.output(job.name) / "result.json").read_text())


def processes_of(owner: int) -> set[int]:
    """Warm parents and cold processes of an owner and all that is forked from them: they share a
    command line."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and f"--owner\0{owner}\0" in _command_line(folder):
            found.add(int(folder.name))
    return found


def until_gone(owner: int) -> set[int]:
    """Wait for the end of an owner's processes; those that stay."""
    limit = time.monotonic() + _SECONDS
    while processes_of(owner) and time.monotonic() < limit:
        time.sleep(_POLL_SECONDS)
    return processes_of(owner)


def _command_line(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_text()
    except OSError:
        return ""
