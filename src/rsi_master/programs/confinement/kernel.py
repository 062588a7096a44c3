"""System calls that Python does not offer, by ctypes; a failure becomes a ConfinementError."""

import ctypes
import os
import platform
from pathlib import Path

from rsi_master.programs.confinement.plan import ConfinementError

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

MACHINE = platform.machine()
_COLUMN = {"x86_64": 0, "aarch64": 1}.get(MACHINE)

NEWNS, NEWUTS, NEWIPC, NEWUSER = 0x20000, 0x4000000, 0x8000000, 0x10000000
NEWPID, NEWNET, NEWCGROUP, NEWTIME = 0x20000000, 0x40000000, 0x2000000, 0x80

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_KEEPCAPS = 1, 4, 8
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 22, 24, 36, 38
CAP_DAC_READ_SEARCH, CAP_SETPCAP = 2, 8

_MNT_DETACH = 2
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_CAPABILITY_VERSION = 0x20080522

# name: number on x86_64, on aarch64
NUMBERS: dict[str, tuple[int, int | None]] = {
    "capget": (125, 90),
    "capset": (126, 91),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "mount_setattr": (442, 442),
    "pivot_root": (155, 41),
}


class _MountAttr(ctypes.Structure):
    _fields_ = [
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    ]


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    ]


def number(pair: tuple[int, int | None]) -> int | None:
    """The system call number on this machine, None where it has none."""
    return None if _COLUMN is None else pair[_COLUMN]


def raw(step: str, name: str, *arguments: object) -> int:
    """A system call by number; returns its result."""
    found = number(NUMBERS[name])
    if found is None:
        raise ConfinementError(step, f"{name} on {MACHINE}", 0)
    # Variadic: an unconverted int would be passed with 32 bits.
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(_LIBC.syscall(ctypes.c_long(found), *wide))
    if result < 0:
        raise ConfinementError(step, name, ctypes.get_errno())
    return result


def _checked(step: str, name: str, result: int) -> None:
    if result != 0:
        raise ConfinementError(step, name, ctypes.get_errno())


def unshare(step: str, flags: int) -> None:
    """Leave the namespaces named by `flags`."""
    _checked(step, "unshare", _LIBC.unshare(ctypes.c_int(flags)))


def prctl(step: str, option: int, value: int) -> None:
    """prctl with one argument."""
    zero = ctypes.c_ulong(0)
    result = _LIBC.prctl(ctypes.c_int(option), ctypes.c_ulong(value), zero, zero, zero)
    _checked(step, f"prctl({option})", result)


def mount(step: str, source: Path | None, target: Path, kind: str, flags: int, data: str) -> None:
    """mount(2); `kind` and `data` may be empty."""
    result = _LIBC.mount(
        os.fsencode(source) if source else b"none",
        os.fsencode(target),
        kind.encode() or None,
        ctypes.c_ulong(flags),
        data.encode() or None,
    )
    _checked(step, "mount", result)


def restrict_mounts(step: str, target: Path, attributes: int) -> None:
    """Set attributes on a mount and all below it (kernel 5.12)."""
    attr = _MountAttr(attributes, 0, 0, 0)
    size = ctypes.sizeof(attr)
    path = os.fsencode(target)
    raw(step, "mount_setattr", _AT_FDCWD, path, _AT_RECURSIVE, ctypes.byref(attr), size)


def pivot_root(step: str, new_root: Path) -> None:
    """Make `new_root` the root and detach the old one."""
    os.chdir(new_root)
    raw(step, "pivot_root", b".", b".")
    _checked(step, "umount2", _LIBC.umount2(b".", ctypes.c_int(_MNT_DETACH)))
    os.chdir("/")


def has_capability(capability: int) -> bool:
    """Whether the calling thread holds it now."""
    header, data = _CapHeader(_CAPABILITY_VERSION, 0), (_CapData * 2)()
    raw("read capabilities", "capget", ctypes.byref(header), ctypes.byref(data))
    return bool(data[0].effective >> capability & 1)


def drop_bounding_set(step: str) -> None:
    """Empty the capability bounding set; must happen before the uid changes."""
    for capability in range(64):
        try:
            prctl(step, PR_CAPBSET_DROP, capability)
        except ConfinementError:
            if capability == 0:
                raise
            return


def keep_capabilities(step: str, *capabilities: int) -> None:
    """Hold exactly these capabilities, none of them inheritable."""
    mask = sum(1 << capability for capability in capabilities)
    header = _CapHeader(_CAPABILITY_VERSION, 0)
    data = (_CapData * 2)(_CapData(mask, mask, 0), _CapData(0, 0, 0))
    raw(step, "capset", ctypes.byref(header), ctypes.byref(data))
