"""An engine in memory: jobs are threads of this process, the folders are real.

Not held: isolation, memory, and killing; what an agent wrote runs in this very process, and no job
has a judge. A job that is over its limit or cancelled ends in the engine's books at once; its
thread may go on and what it does then counts for nothing.
"""

import contextlib
import importlib
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from rsi_master.adapters.compute.attempt import Attempt
from rsi_master.adapters.compute.devices import OUTSIDE, Leases, cpu_slots
from rsi_master.adapters.compute.spool import admit, check_name, lay_out
from rsi_master.core.errors import Refused
from rsi_master.core.job import Ending, Job, JobClass, JobStatus, Program
from rsi_master.core.ports import ObjectStore
from rsi_master.core.warm import Ended

_SWEEP_SECONDS = 0.01


class FakeCompute:
    """Implements `core.ports.Compute` without processes; every job has tier `none`. Its devices are
    CPU slots, or `cards`: names of GPUs that nothing computes on."""

    def __init__(
        self,
        spool: Path,
        objects: ObjectStore,
        programs: Mapping[str, Program],
        *,
        slots: int = 2,
        cards: tuple[str, ...] = (),
    ) -> None:
        spool.mkdir(parents=True, exist_ok=True)
        self._spool = spool
        self._objects = objects
        self._programs = dict(programs)
        self._leases = Leases(cards or cpu_slots(slots))
        self._attempts: dict[str, Attempt] = {}
        self._changed = threading.Condition()
        self._news = False

    def submit(self, job: Job) -> None:
        """Start the job in a thread; a known name is left as it is."""
        program = admit(job, self._programs)
        if job.judge is not None:
            raise Refused("NO_JUDGE", f"job {job.name}: the engine in memory starts no judges")
        with self._changed:
            if job.name in self._attempts:
                return
            self._sweep()
            devices = self._leases.take(job.name, job.resources.devices, job.job_class)
            attempt = Attempt(job, program, self._spool / job.name, devices, 0)
            try:
                lay_out(attempt.folder, job, self._objects)
            except BaseException:
                self._leases.give_back(job.name)
                raise
            self._attempts[job.name] = attempt
            attempt.fork_seen(0, time.monotonic())
            attempt.entered = True
        threading.Thread(target=self._run, args=(attempt,), daemon=True).start()

    def poll(self, name: str) -> JobStatus:
        """State now; `unknown` for a name that this engine did not start."""
        with self._changed:
            self._sweep()
            attempt = self._attempts.get(name)
            if attempt is None:
                return JobStatus(name=name, state="unknown")
            return attempt.status(time.monotonic(), "none")

    def wait(self, seconds: float) -> bool:
        """True as soon as a job has ended since the last true answer, false after `seconds`."""
        end = time.monotonic() + seconds
        with self._changed:
            while True:
                self._sweep()
                left = end - time.monotonic()
                if self._news or left <= 0:
                    break
                self._changed.wait(min(left, _SWEEP_SECONDS))
            ended, self._news = self._news, False
            return ended

    def cancel(self, name: str) -> None:
        """Forget the job's thread; an unknown or ended name is left alone."""
        with self._changed:
            attempt = self._attempts.get(name)
            if attempt is not None:
                self._end(attempt, "cancelled", "on request")

    def free_devices(self, job_class: JobClass = "recipe") -> int:
        """Devices without a lease that a job of the class may have."""
        with self._changed:
            self._sweep()
            return len(self._leases.free(job_class))

    def lease(self, name: str) -> tuple[str, ...]:
        """Take one device for work outside a job; raises Broken if none is free."""
        with self._changed:
            return self._leases.take(OUTSIDE + name, 1)

    def release(self, name: str) -> None:
        """Give back what `lease` took under that name; a job keeps its devices."""
        with self._changed:
            self._leases.give_back(OUTSIDE + name)

    def output(self, name: str) -> Path:
        """The folder that the job may have written."""
        check_name(name)
        return self._spool / name / "out"

    def close(self) -> None:
        """Cancel what runs; later submissions are refused."""
        with self._changed:
            for attempt in self._attempts.values():
                self._end(attempt, "cancelled", "the engine was closed")
            self._leases = Leases(())

    def _run(self, attempt: Attempt) -> None:
        code = _call(attempt)
        notice = Ended(name=attempt.job.name, outcome="exited", code=code)
        with self._changed:
            self._end(attempt, *attempt.judge(notice))

    def _sweep(self) -> None:
        now = time.monotonic()
        for attempt in self._attempts.values():
            overdue = None if attempt.ended else attempt.overdue(now)
            if overdue is not None:
                self._end(attempt, overdue, "over its limit")

    def _end(self, attempt: Attempt, ending: Ending, detail: str) -> None:
        if attempt.ended is None:
            attempt.finish(ending, detail, time.monotonic(), "none")
            self._leases.give_back(attempt.job.name)
            self._news = True
            self._changed.notify_all()


def _call(attempt: Attempt) -> int:
    module, _, name = attempt.program.entry.partition(":")
    try:
        program = getattr(importlib.import_module(module), name)
        if attempt.job.job_class == "code":
            return _call_code(program, attempt)
        program(attempt.folder)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001 - as in a real job: a program's failure is its own
        with contextlib.suppress(FileNotFoundError):  # the folder of a job that was given up
            (attempt.out / "log.txt").write_text(traceback.format_exc())
        return 1
    return 0


def _call_code(program: Callable[[Path, int, int], int], attempt: Attempt) -> int:
    with (
        (attempt.out / "made.jsonl").open("wb", 0) as made,
        (attempt.out / "result.json").open("wb", 0) as result,
    ):
        return program(attempt.folder, made.fileno(), result.fileno())
