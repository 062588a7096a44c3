"""The namespace tier: a new user (unless root), net, mount, pid, ipc and uts namespace, and a root
of tmpfs that holds read-only binds of what the plan names, and empty folders over what it covers.

The job sees `/job/{job.json,in,out}`, `/tmp`, `/dev` with five nodes, its own `/proc`, and the
interpreter's paths where they are on the host; one that is `alone` finds nothing there that it may
write. No network interface is up, not even loopback.
"""

import os
import socket
from pathlib import Path

from rsi_master.programs.confinement import cover, kernel
from rsi_master.programs.confinement.plan import Confinement, ConfinementError, Inside

INSIDE = Inside(folder=Path("/job"), scratch=Path("/tmp"))

_DEVICES = ("null", "zero", "full", "random", "urandom")
_TMPFS_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV
_READ_ONLY = kernel.ATTR_RDONLY | kernel.ATTR_NOSUID | kernel.ATTR_NODEV
_OUTPUT = kernel.ATTR_NOSUID | kernel.ATTR_NODEV | kernel.ATTR_NOEXEC


def leave() -> None:
    """Leave the host's namespaces; the next fork is pid 1 of the new one. Needs a single thread."""
    if os.geteuid() != 0:
        _own_user_namespace()
    others = kernel.NEWPID | kernel.NEWIPC | kernel.NEWUTS
    kernel.unshare("network namespace", kernel.NEWNET)
    kernel.unshare("mount, pid, ipc and uts namespaces", kernel.NEWNS | others)


def _own_user_namespace() -> None:
    user, group = os.geteuid(), os.getegid()
    kernel.unshare("user namespace", kernel.NEWUSER)
    _write("setgroups", "deny")
    _write("gid_map", f"{group} {group} 1")
    _write("uid_map", f"{user} {user} 1")


def _write(name: str, text: str) -> None:
    try:
        Path("/proc/self", name).write_text(text)
    except OSError as error:
        raise ConfinementError(f"user namespace {name}", "write", error.errno or 0) from error


def build_root(plan: Confinement) -> None:
    """Mount the new root over `scratch/`, fill it and make it the root. Call as pid 1."""
    root = plan.folder / "scratch"
    size = f"size={plan.scratch_bytes}"
    kernel.mount("private mounts", None, Path("/"), "", kernel.MS_REC | kernel.MS_PRIVATE, "")
    kernel.mount("new root", None, root, "tmpfs", _TMPFS_FLAGS, "mode=755,size=16m")
    for name in ("tmp", "dev/shm"):
        if plan.alone:
            _make_folder(root / name)
        else:
            _tmpfs(root / name, f"mode=1777,{size}")
    _devices(root, plan)
    for path in plan.readable:
        _bind(path, root / path.relative_to("/"), _READ_ONLY)
    for path in plan.readable:
        for place in cover.places(path, plan.covered):
            _cover(root, place)
    for name in ("job.json", "in"):
        _bind(plan.folder / name, root / "job" / name, _READ_ONLY)
    output = _OUTPUT | (kernel.ATTR_RDONLY if plan.alone else 0)
    _bind(plan.folder / "out", root / "job/out", output)
    _make_folder(root / "proc")
    proc_flags = _TMPFS_FLAGS | kernel.MS_NOEXEC | kernel.MS_RDONLY
    kernel.mount("new /proc", None, root / "proc", "proc", proc_flags, "")
    kernel.pivot_root("pivot to the new root", root)
    flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _TMPFS_FLAGS
    kernel.mount("read-only root", None, Path("/"), "", flags, "")
    socket.sethostname("job")


def _devices(root: Path, plan: Confinement) -> None:
    for name in (*(Path("/dev", one) for one in _DEVICES), *plan.devices):
        _bind(name, root / name.relative_to("/"), 0)
    (root / "dev/fd").symlink_to("/proc/self/fd")


def _tmpfs(target: Path, data: str) -> None:
    _make_folder(target)
    kernel.mount(f"tmpfs on {target.name}", None, target, "tmpfs", _TMPFS_FLAGS, data)


def _cover(root: Path, place: Path) -> None:
    flags = _TMPFS_FLAGS | kernel.MS_RDONLY | kernel.MS_NOEXEC
    target = root / place.relative_to("/")
    kernel.mount(f"cover {place}", None, target, "tmpfs", flags, "mode=0,size=4k")


def _make_folder(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


def _bind(source: Path, target: Path, attributes: int) -> None:
    step = f"bind {source}"
    if source.is_dir():
        _make_folder(target)
    else:
        _make_folder(target.parent)
        target.touch()
    kernel.mount(step, source, target, "", kernel.MS_BIND | kernel.MS_REC, "")
    if attributes:
        kernel.restrict_mounts(step, target, attributes)
