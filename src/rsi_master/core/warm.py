"""What the owner and a warm parent say to each other: one JSON object a line, owner to parent
`Run` and `Kill`, parent to owner the rest. `Ended.outcome` keeps three things apart: the program's
own exit code, a signal, and a confinement that did not hold (the program never ran).
"""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from rsi_master.core.model import Value

LINE_BYTES = 64 * 1024

JUDGE_DESCRIPTOR = 3
"""Where a job finds its end of the line to its judge."""

JobTier = Literal["namespaces", "landlock", "none"]


class Cage(Value):
    """How a job is confined: the tier, the user it becomes (root only), and its ceilings."""

    tier: JobTier
    user: int | None = None
    memory_mib: int = 4096
    processes: int = 64
    file_mib: int = 8192
    cpu_seconds: int = 3600


class Run(Value):
    """Fork a child that runs `entry` on `folder`; the name is free again when it has ended. With
    `linked`, the child's end of the line between a job and its judge comes beside this message."""

    kind: Literal["run"] = "run"
    name: str
    folder: str
    entry: str
    cage: Cage
    visible_gpus: tuple[str, ...] = ()
    linked: bool = False


class Kill(Value):
    """Kill the whole process tree of a job; an unknown name is ignored."""

    kind: Literal["kill"] = "kill"
    name: str


class Ready(Value):
    """Everything asked for is imported; `seconds` is what that took."""

    kind: Literal["ready"] = "ready"
    seconds: float


class Failed(Value):
    """The parent cannot serve, and why; it exits after this."""

    kind: Literal["failed"] = "failed"
    detail: str


class Forked(Value):
    """The job exists as process group `pid`; it is not confined yet."""

    kind: Literal["forked"] = "forked"
    name: str
    pid: int


class Entered(Value):
    """The confinement holds and the program starts."""

    kind: Literal["entered"] = "entered"
    name: str


class Ended(Value):
    """The job is gone with its whole process tree; `code` is the exit code or the signal."""

    kind: Literal["ended"] = "ended"
    name: str
    outcome: Literal["exited", "signalled", "refused"]
    code: int
    detail: str = ""


Order = Annotated[Run | Kill, Field(discriminator="kind")]
Notice = Annotated[Ready | Failed | Forked | Entered | Ended, Field(discriminator="kind")]

ORDER: TypeAdapter[Order] = TypeAdapter(Order)
NOTICE: TypeAdapter[Notice] = TypeAdapter(Notice)


def line(message: Order | Notice) -> bytes:
    """The message as it goes over the socket."""
    return message.model_dump_json().encode() + b"\n"
