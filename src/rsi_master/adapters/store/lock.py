"""The lock that makes a process the owner of a run: one writer of its ledger at any time.

The kernel drops it when the owner dies, whatever the file still says; a child that was forked
without exec and keeps the descriptor keeps the lock. It does not hold between machines that share
a network disk without lock support.
"""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from rsi_master.core.errors import Refused

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_LOCKS: Final = Path("/proc/locks")


class RunLock:
    """Held from `with` to its end; a second owner is Refused with the pid of the first."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as cause:
            words = os.read(descriptor, 200).decode("ascii", errors="replace").split()
            os.close(descriptor)
            pid = words[0] if words else "unknown"
            run = self._path.parent.name
            fix = "use it through its owner, or stop that process"
            raise Refused("RUN_OWNED", f"run {run} is owned by process {pid}; {fix}") from cause
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {_boot_id()}\n".encode("ascii"), 0)
        self._descriptor = descriptor
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def held(path: Path) -> bool:
    """Whether somebody on this machine holds the lock, asked of the kernel and without taking it;
    False where it does not tell, as on some overlays."""
    try:
        found, listed = path.stat(), _LOCKS.read_text("ascii")
    except OSError:
        return False
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return place in listed.split()


def _boot_id() -> str:
    return _BOOT.read_text("ascii").strip() if _BOOT.exists() else "unknown"
