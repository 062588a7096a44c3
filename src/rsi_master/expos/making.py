"""The queue of jobs that make something for an action, which waits here for what they leave.

A job of this kind belongs to no experiment: it is not retried, and nothing of it is recorded but
what the action records. What it leaves is read back as plain bytes and never executed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rsi_master.core.canonical import encode
from rsi_master.core.job import Job, JobStatus
from rsi_master.core.making import MakingEnded
from rsi_master.core.ports import ObjectStore
from rsi_master.core.text import clean
from rsi_master.expos.waiting import Queue


def job_name(intent: str) -> str:
    """The engine's name for the job of an action, by the id of its intent; no attempt has such a
    name."""
    return f"make-{intent}"


@dataclass(frozen=True)
class Order:
    """A job that `worker` waits for, named by `job_name`, and the files of its `out/` that are
    wanted, each with the most bytes that it may have.

    `job.resources.seconds` is what the action has reserved.
    """

    worker: str
    job: Job
    wanted: Mapping[str, int]

    @property
    def seconds(self) -> float:
        """The most device seconds."""
        return self.job.resources.seconds


@dataclass(frozen=True)
class Made:
    """How a job ended, with the device seconds that are to be paid, and what it left.

    `files` holds every wanted file where `problem` is None, and nothing where it says in one line
    why there is no output. `log` is the end of the job's log, in its own words.
    """

    status: JobStatus
    files: Mapping[str, bytes] = field(default_factory=dict)
    log: bytes = b""
    problem: str | None = None


def ended(
    intent: str, order: Order, made: Made, problem: str | None, objects: ObjectStore
) -> MakingEnded:
    """The fact that the job of an action has ended; `problem` is why nothing came of it, be it the
    engine's reason or that of whoever read its output."""
    status = made.status
    return MakingEnded(
        intent=intent,
        worker=order.worker,
        program=order.job.program,
        spec=objects.put_bytes("job", encode(order.job.model_dump(mode="json"))),
        ending=status.ending or "lost",
        problem=clean(problem) if problem is not None else None,
        seconds=status.seconds,
        tier=status.tier,
        devices=status.devices,
        log=objects.put_bytes("log", made.log) if made.log else None,
    )


class Making(Queue[Order, Made]):
    """The queue of orders. What the engine refuses to run is raised as the engine says it."""

    noun = "job"
    busy = "MAKING"
