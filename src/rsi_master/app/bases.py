"""Bases: model folders that a package ships, and those that are prepared once into the home.

A prepared base is written by a program of its package, because a wheel cannot hold it. Its folder
appears whole or not at all, with the digest of each file in `DIGESTS`; a shipped base may bring
such a record. What there is of records and the form are checked; that the model is any good is the
package's word. The protocol of the program is docs/adr/0008.
"""

import errno
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from rsi_master.adapters.store.durable import sync_folder, write_file
from rsi_master.app import inspection, plugins, preparation
from rsi_master.app.home import Home
from rsi_master.app.inspection import DIGESTS, NEEDED, Flaw
from rsi_master.core.canonical import digest
from rsi_master.core.errors import Broken, Finding, Misuse, Refused

PREPARED = "rsi_master.prepared_bases"
LOCK = ".lock"
DRAFT = ".draft-"
_STEPS = {
    **dict.fromkeys((errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENOTDIR), "remove it"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "give yourself access to it"),
}


@dataclass(frozen=True)
class Base:
    """A base that was found sound: its folder, and the digest that contracts name."""

    folder: Path
    digest: str


@dataclass(frozen=True)
class Added:
    """A prepared base: its folder, the digest that contracts name, whether it is new."""

    folder: Path
    digest: str
    new: bool


def find(name: str, home: Home) -> Path:
    """The folder of a base, shipped or prepared, whose files are not looked at; raises Refused with
    what makes it available, and Finding where something else has its place."""
    if name not in preparable():
        folder = plugins.base_folder(name)
        try:
            with _disk(name, folder, _reinstall(name)):
                inspection.is_folder(folder)
        except Flaw as flaw:
            raise _damaged(name, folder, flaw, _reinstall(name)) from flaw
        return folder
    folder = home.base(name)
    if not _there(folder):
        raise Refused(
            "BASE_NOT_ADDED",
            f"base {name!r} is not prepared in {home.root}; run `rsi base add {name}` once",
        )
    return folder


def sound(name: str, home: Home) -> Base:
    """The base, each of its files read once; raises as `find`, and Finding where a file is not as
    recorded or cannot be used. A shipped base without a record is judged by its form alone."""
    folder = find(name, home)
    return Base(folder, _checked(folder) if name in preparable() else _shipped(name, folder))


def pin(name: str, home: Home) -> str:
    """The digest for a new contract; raises as `sound`."""
    return sound(name, home).digest


def preparable() -> tuple[str, ...]:
    """The bases that installed packages know how to prepare; a shipped base keeps its name."""
    shipped = {point.name for point in entry_points(group=plugins.BASES)}
    return tuple(sorted({point.name for point in entry_points(group=PREPARED)} - shipped))


def there(name: str, home: Home) -> bool:
    """Whether `add` would only check; raises what `add` raises before it starts anything."""
    _point(name)
    return _there(home.base(name))


def add(name: str, home: Home, python: str = sys.executable) -> Added:
    """Prepare a base unless it is there; raises Finding where its files are not as recorded.

    One process at a time prepares, others are Refused. The program dies with the calling thread.
    """
    point, folder = _point(name), home.base(name)
    if _there(folder):
        return Added(folder, _checked(folder), new=False)
    home.prepare()
    with _disk(name, folder, _again(name)), _alone(folder.parent):
        if _there(folder):  # another process was faster
            return Added(folder, _checked(folder), new=False)
        found = _prepare(folder, lambda draft: preparation.run(point, draft, python))
        return Added(folder, found, new=True)


def _point(name: str) -> EntryPoint:
    """The one entry point that prepares the base."""
    points = list(entry_points(group=PREPARED, name=name))
    if not points:
        known = ", ".join(preparable()) or "none"
        raise Misuse("BASE_UNKNOWN", f"no base {name!r} can be added; there are: {known}")
    points += entry_points(group=plugins.BASES, name=name)
    if len(points) > 1:
        packages = " and ".join(sorted(_package(point) for point in points))
        raise Refused("BASE_CLASH", f"{packages} both bring a base {name!r}; uninstall one of them")
    if not all(part.isidentifier() for part in points[0].value.split(".")):
        raise Refused(
            "BASE_POINT",
            f"{_package(points[0])} prepares base {name!r} by {points[0].value!r}, which is no "
            "module; report it there",
        )
    return points[0]


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else f"the package of {point.value}"


def _there(folder: Path) -> bool:
    """Whether a base has that place; raises Finding for a file or link in it."""
    if not os.path.lexists(folder):
        return False
    try:
        inspection.is_folder(folder)
    except Flaw as flaw:
        raise _damaged(folder.name, folder, flaw, _anew(folder)) from flaw
    return True


@contextmanager
def _disk(name: str, folder: Path, fix: str) -> Iterator[None]:
    """Turn an operating system error at the disk into Broken."""
    try:
        yield
    except OSError as cause:
        place = folder / (cause.filename or "")
        reason = f"base {name}: {place}: {cause.strerror or cause}"
        first = _STEPS.get(cause.errno or 0, "free or repair the disk")
        raise Broken("DISK", f"{reason}; {first}, then {fix}") from cause


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder of bases; drafts of those that were killed are removed."""
    folder.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(folder / LOCK, flags, 0o600)) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as cause:
            raise Refused(
                "BASE_BUSY",
                f"another process prepares a base in {folder}; wait for its end and run this again",
            ) from cause
        for left in folder.glob(f"{DRAFT}*"):
            _remove(left)
        yield


def _remove(left: Path) -> None:
    """Remove a folder, file or link, which is not followed; an OSError has its path."""
    try:
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()
    except OSError as cause:
        raise OSError(cause.errno, cause.strerror or str(cause), str(left)) from cause


def _prepare(folder: Path, write: Callable[[Path], None]) -> str:
    """Have a draft written, judged and recorded, then give it its name; returns its digest."""
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=DRAFT))
    try:
        write(draft)
        files = _judged(draft, folder.name)
        text = inspection.record(files)
        write_file(draft / DIGESTS, text)
        for path in draft.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        draft.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return inspection.digest_of({**files, DIGESTS: digest(text)})


def _judged(draft: Path, name: str) -> dict[str, str]:
    """The digests of what the program left; raises Broken where it is no folder of a base."""
    try:
        inspection.flat(draft)
        files = inspection.files(draft)
        if DIGESTS in files:
            raise Flaw(f"the name {DIGESTS} is taken for the record")
        inspection.form(draft, files)
    except Flaw as flaw:
        told = f"preparing {name}: its program reported success, but {flaw}"
        raise Broken("BASE_FAILED", f"{told}; report it to the package of the base") from flaw
    return files


def _checked(folder: Path) -> str:
    """The digest of a prepared base; raises Finding where it is not as it was added."""
    try:
        with _disk(folder.name, folder, _again(folder.name)):
            inspection.flat(folder)
            return _judge(folder, NEEDED, must=True)
    except Flaw as flaw:
        raise _damaged(folder.name, folder, flaw, _anew(folder)) from flaw


def _shipped(name: str, folder: Path) -> str:
    """The digest of a shipped base; raises Finding where it is not as its package recorded it, or
    cannot be used."""
    try:
        with _disk(name, folder, _reinstall(name)):
            return _judge(folder, (inspection.WEIGHTS, inspection.CONFIG), must=False)
    except Flaw as flaw:
        raise _damaged(name, folder, flaw, _reinstall(name)) from flaw


def _judge(folder: Path, needed: tuple[str, ...], *, must: bool) -> str:
    """The digest of the folder; raises Flaw where files differ from its record, which there must
    be or may be, or have not the form of a base."""
    files = inspection.files(folder, shared=not must)
    plain = {name: value for name, value in files.items() if name != DIGESTS}
    if DIGESTS in files:
        inspection.same(plain, inspection.recorded((folder / DIGESTS).read_bytes()))
    elif must:
        raise Flaw(f"{DIGESTS} is missing")
    inspection.form(folder, plain, needed)
    return inspection.digest_of(files)


def _damaged(name: str, folder: Path, flaw: Flaw, fix: str) -> Finding:
    return Finding("BASE_DAMAGED", f"base {name!r}: {folder}: {flaw}; {fix}")


def _again(name: str) -> str:
    return f"run `rsi base add {name}` again"


def _anew(folder: Path) -> str:
    return f"remove {folder} and {_again(folder.name)}"


def _reinstall(name: str) -> str:
    """The next step where a shipped base is not as it should be."""
    packages = [_package(point) for point in entry_points(group=plugins.BASES, name=name)]
    package = packages[0] if packages else "its package"
    return f"reinstall {package}, or restore the folder in its checkout"
