"""Jobs on this machine: a spool folder each, leased devices, forked from warm parents, confined.
Those of class `code` get a cold process, and no device but a CPU slot.

Local jobs die with the process that owns the engine. After that they are unknown to the next one;
their folders stay.
"""

import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from rsi_master.adapters.compute.attempt import Attempt
from rsi_master.adapters.compute.devices import OUTSIDE, Leases
from rsi_master.adapters.compute.spool import admit, check_name, lay_out
from rsi_master.adapters.compute.supervisor import Supervisor
from rsi_master.core.errors import Broken, Refused
from rsi_master.core.job import Ending, Job, JobClass, JobStatus, Program
from rsi_master.core.ports import ObjectStore
from rsi_master.core.warm import JobTier


class LocalCompute:
    """Implements `core.ports.Compute`; any thread may call it.

    `tier` is the isolation that each job gets exactly, or else ends as `refused`. `pythons` names
    the interpreter of a runtime other than this process's own.
    """

    def __init__(
        self,
        spool: Path,
        objects: ObjectStore,
        programs: Mapping[str, Program],
        *,
        devices: tuple[str, ...],
        tier: JobTier,
        pythons: Mapping[str, str] | None = None,
    ) -> None:
        spool.mkdir(parents=True, exist_ok=True)
        self._spool = spool.resolve()
        self._objects = objects
        self._programs = dict(programs)
        self._tier = tier
        self._leases = Leases(devices)
        self._attempts: dict[str, Attempt] = {}
        self._changed = threading.Condition()
        self._news = False
        self._closed = False
        own = dict.fromkeys(("core", "train", "serve", "eval"), sys.executable)
        self._supervisor = Supervisor(self._spool, tier, {**own, **(pythons or {})}, self._on_end)
        self._supervisor.start()

    def submit(self, job: Job) -> None:
        """Lay out the folder and start the job; a known name is left as it is.

        Raises Broken without a free device or spool, Misuse for a name or program that cannot be,
        Refused for class `code` without walls. Then nothing runs and no device is held.
        """
        program = admit(job, self._programs)
        if (job.job_class == "code" or job.judge is not None) and self._tier == "none":
            text = "agents' code needs the tier 'namespaces' or 'landlock', and here holds 'none'"
            raise Refused("JOB_CLASS", f"job {job.name}: {text}")
        with self._changed:
            if job.name in self._attempts:
                return
            if self._closed or not self._supervisor.is_alive():
                raise Broken("ENGINE_CLOSED", f"job {job.name}: the local engine is closed")
            devices = self._leases.take(job.name, job.resources.devices, job.job_class)
            position = self._leases.position(devices[0])
            attempt = Attempt(job, program, self._spool / job.name, devices, position)
            self._attempts[job.name] = attempt
        try:
            lay_out(attempt.folder, job, self._objects)
        except BaseException:
            with self._changed:
                del self._attempts[job.name]
                self._leases.give_back(job.name)
            raise
        with self._changed:
            if self._closed:
                self._on_end(attempt, "cancelled", "the engine was closed")
            else:
                self._supervisor.add(attempt)

    def poll(self, name: str) -> JobStatus:
        """State now; `unknown` for a name that this engine did not start."""
        with self._changed:
            attempt = self._attempts.get(name)
            if attempt is None:
                return JobStatus(name=name, state="unknown")
            return attempt.status(time.monotonic(), self._tier)

    def wait(self, seconds: float) -> bool:
        """True as soon as a job has ended since the last true answer, false after `seconds`."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self._news, seconds)
            self._news = False
            return ended

    def cancel(self, name: str) -> None:
        """Kill the job's whole process tree; an unknown or ended name is left alone."""
        with self._changed:
            attempt = self._attempts.get(name)
            if attempt is None or attempt.ended is not None or self._closed:
                return
            self._supervisor.cancel(name)

    def free_devices(self, job_class: JobClass = "recipe") -> int:
        """Devices without a lease that a job of the class may have."""
        with self._changed:
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
        """The folder that the job may have written; links and devices may lie there."""
        check_name(name)
        return self._spool / name / "out"

    def close(self) -> None:
        """Kill what runs (it ends as `cancelled`), end the warm parents, join the thread."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        self._supervisor.close()

    def _on_end(self, attempt: Attempt, ending: Ending, detail: str) -> None:
        with self._changed:
            attempt.finish(ending, detail, time.monotonic(), self._tier)
            self._leases.give_back(attempt.job.name)
            self._news = True
            self._changed.notify_all()
