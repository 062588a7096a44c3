"""The parts of confinement that hold in every tier: descriptors, ceilings, parent death, user."""

import os
import resource
import signal
from collections.abc import Iterable
from pathlib import Path

from rsi_master.programs.confinement import kernel
from rsi_master.programs.confinement.plan import Confinement, ConfinementError

_OPEN_FILES = 1024


def close_descriptors(keep: Iterable[int]) -> None:
    """Close all but `keep`: an inherited folder still reads the host after pivot_root."""
    high = max(int(name) for name in os.listdir("/proc/self/fd"))
    low = 0
    for descriptor in sorted({*keep, high + 1}):
        # An empty range closes everything: closerange(0, 0) becomes close_range(0, UINT_MAX).
        if low < descriptor:
            os.closerange(low, descriptor)
        low = descriptor + 1


def die_with_parent() -> None:
    """SIGKILL when the parent ends; a change of uid clears it, so call it again then."""
    kernel.prctl("parent-death signal", kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def limit(plan: Confinement) -> None:
    """Set the ceilings. Those of memory and (for a user's own processes) tasks add to what is."""
    _ceiling(resource.RLIMIT_CORE, 0)
    _ceiling(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _ceiling(resource.RLIMIT_FSIZE, plan.file_bytes)
    _ceiling(resource.RLIMIT_CPU, plan.cpu_seconds)
    if plan.memory_bytes is not None:
        _ceiling(resource.RLIMIT_AS, _mapped_bytes() + plan.memory_bytes)
    tasks = plan.processes if plan.user is not None else plan.processes + _tasks_of_user()
    _ceiling(resource.RLIMIT_NPROC, tasks)


def _ceiling(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError) as error:
        raise ConfinementError(f"ceiling {kind} at {value}", "setrlimit", 1) from error


def _mapped_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def _tasks_of_user() -> int:
    """Tasks of this uid now; processes that end meanwhile are not counted."""
    user, count = os.getuid(), 0
    for folder in os.scandir("/proc"):
        if not folder.name.isdecimal():
            continue
        try:
            if folder.stat().st_uid == user:
                count += len(os.listdir(f"{folder.path}/task"))
        except OSError:
            continue
    return count


def become(user: int | None, *, keep: tuple[int, ...] = ()) -> None:
    """Drop to `user` (root only) and to the capabilities in `keep`, for good."""
    if kernel.has_capability(kernel.CAP_SETPCAP):
        kernel.drop_bounding_set("capability bounding set")
    if user is not None:
        if keep:
            kernel.prctl("keep capabilities", kernel.PR_SET_KEEPCAPS, 1)
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        except OSError as error:
            step = f"become user {user}"
            raise ConfinementError(step, "setresuid", error.errno or 0) from error
    kernel.keep_capabilities("drop capabilities", *keep)
    # The change of uid cleared both; without the second /proc/self belongs to root.
    die_with_parent()
    kernel.prctl("dumpable", kernel.PR_SET_DUMPABLE, 1)


def hand_over(folder: Path, user: int | None) -> None:
    """Make `out/` and `scratch/` in a job's folder, owned by the user that the child becomes."""
    for name in ("out", "scratch"):
        path = folder / name
        path.mkdir(exist_ok=True)
        if user is not None and os.geteuid() == 0:
            os.chown(path, user, user, follow_symlinks=False)
