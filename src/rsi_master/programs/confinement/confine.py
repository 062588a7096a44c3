"""Confine a freshly forked child according to a plan: the order of the steps is the point."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NoReturn

from rsi_master.programs.confinement import kernel, landlock, namespaces, process, seccomp
from rsi_master.programs.confinement.plan import Confinement, ConfinementError, Inside


def confine(plan: Confinement, keep: Iterable[int], watch: Callable[[int], NoReturn]) -> Inside:
    """Return in a confined grandchild; the caller itself becomes its watcher and calls `watch`.

    The caller is forked, has one thread and has read no input. Open descriptors in `keep` survive.
    The grandchild dies with the watcher, its process group is the caller's. `watch` gets the pid
    of the grandchild and must not return. Raises ConfinementError, on either side of the fork.
    """
    os.setsid()
    os.umask(0o022)
    process.close_descriptors(keep)
    if plan.tier == "namespaces":
        namespaces.leave()
    grandchild = os.fork()
    if grandchild:
        watch(grandchild)
    process.die_with_parent()
    process.limit(plan)
    if plan.tier == "namespaces":
        return _enter_namespaces(plan)
    return _enter_landlock(plan) if plan.tier == "landlock" else _enter_nothing(plan)


def _enter_namespaces(plan: Confinement) -> Inside:
    try:
        namespaces.build_root(plan)
    except OSError as error:
        step = f"new root, {error.filename}"
        raise ConfinementError(step, "file operation", error.errno or 0) from error
    process.become(_user(plan))
    seccomp.restrict(in_pid_namespace=True, alone=plan.alone)
    os.chdir(namespaces.INSIDE.folder)
    return namespaces.INSIDE


def _enter_landlock(plan: Confinement) -> Inside:
    user = _user(plan)
    # Folders above an input or the interpreter may be closed to the new user (/root is 0700):
    # it may search them, and Landlock alone decides what can be read.
    process.become(user, keep=() if user is None else (kernel.CAP_DAC_READ_SEARCH,))
    landlock.restrict(plan)
    seccomp.restrict(in_pid_namespace=False, alone=plan.alone)
    return _enter_nothing(plan)


def _enter_nothing(plan: Confinement) -> Inside:
    os.chdir(plan.folder)
    return Inside(folder=Path(plan.folder), scratch=plan.folder / "scratch")


def _user(plan: Confinement) -> int | None:
    if os.geteuid() != 0:
        return None
    if plan.user is None or plan.user == 0:
        raise ConfinementError("become user", "the plan names no user for a root process", 0)
    return plan.user
