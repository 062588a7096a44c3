"""Bases: model folders that a package ships, and those that are prepared once into the home.

A prepared base is written by a program of its package, named by an entry point, because a wheel
cannot hold it. Its folder appears whole or not at all, with the digest of each file in `DIGESTS`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from rsi_master.adapters.store.durable import disk, sync_folder, write_file
from rsi_master.adapters.store.objects import digest_of
from rsi_master.app import plugins
from rsi_master.app.home import Home
from rsi_master.core.errors import Broken, Finding, Misuse, Refused, RsiError

PREPARED = "rsi_master.prepared_bases"
DIGESTS = "DIGESTS"
SECONDS = 1800.0
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
}
_ERRORS: dict[int, type[RsiError]] = {kind.exit_code: kind for kind in (Refused, Broken)}


@dataclass(frozen=True)
class Added:
    """A prepared base: its folder, the digest that contracts name, whether it is new."""

    folder: Path
    digest: str
    new: bool


def find(name: str, home: Home) -> Path:
    """The folder of a base, shipped or prepared; raises Refused with what makes it available."""
    if name not in preparable():
        return plugins.base_folder(name)
    folder = home.base(name)
    if not folder.is_dir():
        raise Refused(
            "BASE_NOT_ADDED",
            f"base {name!r} is not prepared in {home.root}; run `rsi base add {name}` once",
        )
    return folder


def preparable() -> tuple[str, ...]:
    """The bases that installed packages know how to prepare."""
    return tuple(sorted(point.name for point in entry_points(group=PREPARED)))


def add(name: str, home: Home, python: str = sys.executable) -> Added:
    """Prepare a base unless it is there; raises Finding where its files are not as recorded."""
    point, folder = _point(name), home.base(name)
    new = not folder.is_dir()
    if new:
        home.prepare()
        with disk(f"preparing base {name}"):
            _prepare(folder, lambda draft: _written(point, draft, python))
    _check(folder)
    return Added(folder, digest_of(folder), new)


def _point(name: str) -> EntryPoint:
    for point in entry_points(group=PREPARED, name=name):
        return point
    known = ", ".join(preparable()) or "none"
    raise Misuse("BASE_UNKNOWN", f"no base {name!r} can be added; there are: {known}")


def _prepare(folder: Path, write: Callable[[Path], None]) -> None:
    """Have a draft written and recorded, then give it its name: the whole folder or nothing."""
    folder.parent.mkdir(mode=0o700, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".draft-"))
    try:
        write(draft)
        lines = (f"{digest}  {name}\n" for name, digest in _digests(draft).items())
        write_file(draft / DIGESTS, "".join(lines).encode())
        _publish(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, folder: Path) -> None:
    """Make the draft durable and give it its name, unless another process was faster."""
    for path in draft.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    sync_folder(folder.parent)


def _written(point: EntryPoint, draft: Path, python: str) -> None:
    """Run the package's program; its failure is a line of JSON, and the exit code its kind."""
    command = [python, "-I", "-m", point.value, str(draft)]
    try:
        ended = subprocess.run(
            command,
            env=_ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise Broken("BASE_FAILED", f"preparing {point.name} took over {SECONDS:g} s") from cause
    if ended.returncode == 0:
        return
    last = ended.stderr.strip().rsplit("\n", 1)[-1]
    try:
        told = json.loads(last)
        code, message = str(told["code"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        code, message = "BASE_FAILED", f"preparing {point.name}: {last[:300]}"
    raise _ERRORS.get(ended.returncode, Broken)(code, message)


def _check(folder: Path) -> None:
    """Raise Finding where a file is missing, added or another than when the base was added."""
    try:
        lines = (folder / DIGESTS).read_text(encoding="utf-8").splitlines()
    except OSError as cause:
        raise Finding("BASE_DAMAGED", f"{folder} has no {DIGESTS}; {_repair(folder)}") from cause
    recorded = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = _digests(folder)
    for name in sorted(found.keys() | recorded.keys()):
        if found.get(name) != recorded.get(name):
            raise Finding(
                "BASE_DAMAGED", f"{folder / name} is not as it was added; {_repair(folder)}"
            )


def _repair(folder: Path) -> str:
    return f"remove {folder} and run `rsi base add {folder.name}` again"


def _digests(folder: Path) -> dict[str, str]:
    """sha256 of each file by name, but of the record itself."""
    found: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if path.name != DIGESTS:
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found
