"""What this machine offers to a run, and whether the default contract would be refused here."""

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from typing import Literal

from rsi_master.adapters.compute.devices import gpus
from rsi_master.adapters.sandbox.isolation import choose, probe
from rsi_master.app import bases, plugins
from rsi_master.app.home import Home
from rsi_master.core.errors import Refused, RsiError
from rsi_master.core.model import Value
from rsi_master.core.warm import JobTier

PACKAGE = "rsi-master"
BENCHMARKS = "rsi_master.benchmarks"
DEFAULT_BASE = "nano"
DEFAULT_RECIPE = "sft"
DEFAULT_FLOOR: JobTier = "landlock"
DISK_BYTES = 500_000_000
INSTALL = "run `make setup` in the checkout, or install rsi-master[train]"


class Check(Value):
    """One thing looked at. `missing` refuses a default run, `note` does not."""

    name: str
    state: Literal["ok", "note", "missing"]
    detail: str


class Health(Value):
    """All checks; `ready` when a run under the default contract would start."""

    ready: bool
    checks: tuple[Check, ...]

    def text(self) -> str:
        """Aligned lines and a verdict."""
        width = max(len(check.name) for check in self.checks)
        lines = [f"{c.state:<7}  {c.name:<{width}}  {c.detail}" for c in self.checks]
        end = "A default run starts here." if self.ready else "A default run would be refused here."
        return "\n".join([*lines, "", end])


def examine(home: Home, runs: Path) -> Health:
    """Look at everything; nothing is changed."""
    checks = (
        _python(),
        *_isolation(),
        Check(name="CPU slots", state="ok", detail=f"{len(os.sched_getaffinity(0))} CPUs"),
        _gpus(),
        *_recipes(),
        _names("benchmarks", BENCHMARKS, DEFAULT_BASE),
        _base(home),
        _writable("home", home.root),
        _writable("runs", runs),
        _disk(runs),
    )
    return Health(ready=all(check.state != "missing" for check in checks), checks=checks)


def _python() -> Check:
    ok = sys.version_info >= (3, 11) and sys.platform == "linux"
    found = f"{platform.python_version()} on {platform.platform()}, rsi-master {version(PACKAGE)}"
    fix = "" if ok else "; Python 3.11 or later on Linux is needed"
    return Check(name="python", state="ok" if ok else "missing", detail=found + fix)


def _isolation() -> Iterator[Check]:
    """Each tier as it was tried, and what the default floor makes of that."""
    try:
        probes = probe()
        for one in probes:
            if one.tier == "none":
                continue
            state: Literal["ok", "note"] = "ok" if one.held else "note"
            detail = "holds" if one.held else f"does not hold: {one.reason}"
            yield Check(name=f"tier {one.tier}", state=state, detail=detail)
        best = choose(probes, DEFAULT_FLOOR)
        yield Check(name="isolation", state="ok", detail=f"jobs run under '{best}'")
    except RsiError as problem:
        yield Check(name="isolation", state="missing", detail=problem.message)


def _gpus() -> Check:
    try:
        found = gpus()
    except RsiError as problem:
        return Check(name="GPUs", state="note", detail=problem.message)
    return Check(name="GPUs", state="ok", detail=", ".join(found) or "none, jobs use CPU slots")


def _recipes() -> Iterator[Check]:
    """Installed recipes, and whether what the default one imports is there."""
    yield _names("recipes", plugins.RECIPES, DEFAULT_RECIPE)
    try:
        preload = plugins.recipes((DEFAULT_RECIPE,))[DEFAULT_RECIPE].program.preload
    except RsiError as problem:
        yield Check(name="training", state="missing", detail=problem.message)
        return
    packages = {module.partition(".")[0] for module in preload} | {"torch", "trl", "peft"}
    absent = sorted(name for name in packages if importlib.util.find_spec(name) is None)
    if absent:
        detail = f"{', '.join(absent)} not installed; {INSTALL}"
        yield Check(name="training", state="missing", detail=detail)
    else:
        yield Check(name="training", state="ok", detail="the training stack is installed")


def _names(name: str, group: str, needed: str) -> Check:
    points = entry_points(group=group)
    state: Literal["ok", "missing"] = "ok" if needed in points.names else "missing"
    found = sorted({point.name + _origin(point) for point in points})
    return Check(name=name, state=state, detail=", ".join(found) or "none installed")


def _origin(point: EntryPoint) -> str:
    """The package of a part that is not the system's own."""
    package = point.dist.name if point.dist else "an unknown package"
    return "" if package == PACKAGE else f" (of {package})"


def _base(home: Home) -> Check:
    """Bases that packages ship, and those that are or can be prepared here; every file is read."""
    shipped = {point.name: point for point in entry_points(group=plugins.BASES)}
    prepared = bases.preparable()
    faults = {name: _fault(name, home) for name in (DEFAULT_BASE, *sorted(shipped), *prepared)}
    default = faults[DEFAULT_BASE]
    if default is not None:
        return Check(name="bases", state="missing", detail=default.message)
    found = [f"{name}{_origin(shipped[name])}{_told(faults[name])}" for name in sorted(shipped)]
    found += [f"{name}{_advice(name, faults[name])}" for name in prepared]
    damaged = any(fault and not isinstance(fault, Refused) for fault in faults.values())
    return Check(name="bases", state="note" if damaged else "ok", detail=", ".join(found))


def _fault(name: str, home: Home) -> RsiError | None:
    """Why a run would not start from the base."""
    try:
        bases.pin(name, home)
    except RsiError as problem:
        return problem
    return None


def _told(fault: RsiError | None) -> str:
    """What has to be said of a base that a package ships."""
    return f" (damaged: {fault.message})" if fault else ""


def _advice(name: str, fault: RsiError | None) -> str:
    """What has to be said of a base that is prepared here."""
    if fault is None:
        return ""
    if isinstance(fault, Refused):
        return f" (after `rsi base add {name}`)"
    return f" (damaged: `rsi base add {name}` says how to repair it)"


def _writable(name: str, folder: Path) -> Check:
    there = _existing(folder)
    ok = os.access(there, os.W_OK | os.X_OK)
    fix = "" if ok else f": {there} is not writable; set RSI_HOME or --runs elsewhere"
    return Check(name=name, state="ok" if ok else "missing", detail=f"{folder}{fix}")


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(_existing(folder)).free
    state: Literal["ok", "missing"] = "ok" if free >= DISK_BYTES else "missing"
    need = "" if state == "ok" else f", {DISK_BYTES / 1e9:g} GB are needed"
    return Check(name="disk", state=state, detail=f"{free / 1e9:.1f} GB free for runs{need}")


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
