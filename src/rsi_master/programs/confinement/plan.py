"""What a confined child may use, and the error that says which step did not hold."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Tier = Literal["namespaces", "landlock", "none"]
TIERS: tuple[Tier, ...] = ("namespaces", "landlock", "none")


@dataclass(frozen=True)
class Confinement:
    """The plan of one child.

    `folder` holds `job.json` and `in/` (readable), `out/` (writable) and `scratch/` (the place
    for the new root or for temporary files). `readable` are host paths that the interpreter needs,
    `covered` existing folders whose contents stay closed although they lie inside those.
    `memory_bytes` is an allowance above what the process holds already; None sets no ceiling.
    `user` is the uid and gid that a root process becomes; an ordinary process keeps its own.
    `alone` is for code that nobody vouches for: it writes only to descriptors that are open, has no
    scratch, and makes no process, thread, signal, socket or shared memory.
    """

    tier: Tier
    folder: Path
    readable: tuple[Path, ...]
    covered: tuple[Path, ...]
    user: int | None = None
    memory_bytes: int | None = 4 << 30
    processes: int = 64
    file_bytes: int = 1 << 30
    cpu_seconds: int = 3600
    scratch_bytes: int = 1 << 30
    devices: tuple[Path, ...] = ()
    alone: bool = False


@dataclass(frozen=True)
class Inside:
    """Where the confined child finds its folder and may put temporary files."""

    folder: Path
    scratch: Path


class ConfinementError(Exception):
    """A step failed; the child must not go on. `step` says where, `call` which system call."""

    def __init__(self, step: str, call: str, number: int) -> None:
        reason = os.strerror(number) if number else "not available"
        super().__init__(f"confinement step '{step}' failed: {call}: {reason}")
        self.step = step
        self.call = call
        self.number = number
