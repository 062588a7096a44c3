"""The Landlock tier: file access, TCP, signals and abstract sockets of one process tree.

Not held: stat and chmod of the user's own files, names inside covered folders (a right applies to
all below, and imports list folders), and (before ABI 6) signals to processes of the same user. UDP
and path sockets are closed by the seccomp filter, which denies socket().
"""

import ctypes
import os
from pathlib import Path

from rsi_master.programs.confinement import cover, kernel
from rsi_master.programs.confinement.plan import Confinement, ConfinementError

_STEP = "landlock"
# Before ABI 3 a file that cannot be opened for writing can still be truncated.
_LEAST_ABI = 3
_VERSION_FLAG = 1
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_IOCTL_DEVICE = 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_NET = 3
_SCOPES = 3

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PROC = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo")


class _Ruleset(ctypes.Structure):
    _fields_ = [
        ("access_fs", ctypes.c_uint64),
        ("access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def restrict(plan: Confinement) -> None:
    """Restrict the calling thread and its future children to the plan; needs no_new_privs."""
    abi = _abi()
    handled = _handled(abi)
    ruleset = _ruleset(abi, handled)
    writable = handled & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEVICE | _EXECUTE)
    for path in plan.readable:
        _allow_around(ruleset, path, plan.covered)
    for path in (plan.folder / "in", plan.folder / "job.json", *map(Path, _PROC)):
        _allow(ruleset, path, _READ & handled)
    for path in () if plan.alone else (plan.folder / "out", plan.folder / "scratch"):
        _allow(ruleset, path, writable)
    for path in (*map(Path, _DEVICES), *plan.devices):
        _allow(ruleset, path, (_READ_FILE | _WRITE_FILE | _IOCTL_DEVICE) & handled)
    kernel.prctl("no new privileges", kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.raw(_STEP, "landlock_restrict_self", ruleset, 0)
    os.close(ruleset)


def _allow_around(ruleset: int, path: Path, covered: tuple[Path, ...]) -> None:
    """Allow to read the path but for covered folders inside it, and to list all folders."""
    try:
        left = cover.remainder(path, covered)
    except OSError as error:
        step = f"landlock {path}, {error.filename}"
        raise ConfinementError(step, "list", error.errno or 0) from error
    if left != (path,):
        _allow(ruleset, path, _READ_DIR)
    for one in left:
        _allow(ruleset, one, _READ)


def _abi() -> int:
    abi = kernel.raw(_STEP, "landlock_create_ruleset", None, 0, _VERSION_FLAG)
    if abi < _LEAST_ABI:
        raise ConfinementError(_STEP, f"Landlock ABI {abi}, {_LEAST_ABI} needed", 0)
    return abi


def _handled(abi: int) -> int:
    # ABI 1: 13 rights; 2: refer; 3: truncate; 5: ioctl on devices.
    return (1 << (16 if abi >= 5 else 15)) - 1


def _ruleset(abi: int, handled: int) -> int:
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _Ruleset(handled, _NET, _SCOPES)
    return kernel.raw(_STEP, "landlock_create_ruleset", ctypes.byref(ruleset), size, 0)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    step = f"landlock {path}"
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        raise ConfinementError(step, "open", error.errno or 0) from error
    if not path.is_dir():
        rights &= _EXECUTE | _WRITE_FILE | _READ_FILE | 1 << 14 | _IOCTL_DEVICE
    rule = _PathRule(rights, descriptor)
    kernel.raw(step, "landlock_add_rule", ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    os.close(descriptor)
