"""Bases: model folders that a package ships, and those that are prepared once into the home.

A prepared base is written by a program of its package, because a wheel cannot hold it. Its folder
appears whole or not at all, with the digest of each file in `DIGESTS`. Its form is checked; that
the model is any good is the package's word. The protocol of the program is docs/adr/0008.
"""

import fcntl
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from safetensors import SafetensorError, safe_open

from rsi_master.adapters.store.durable import sync_folder, write_file
from rsi_master.adapters.store.folder import plain_files
from rsi_master.adapters.store.objects import digest_of
from rsi_master.app import plugins, preparation
from rsi_master.app.home import Home
from rsi_master.core.canonical import digest, encode
from rsi_master.core.errors import Broken, Finding, Misuse, Refused
from rsi_master.domains.training import vocabulary

PREPARED = "rsi_master.prepared_bases"
DIGESTS = "DIGESTS"
LOCK = ".lock"
DRAFT = ".draft-"
WEIGHTS = "model.safetensors"
CONFIG = "config.json"
NEEDED = (WEIGHTS, CONFIG, "tokenizer.json")
_CHARACTERS = 300


@dataclass(frozen=True)
class Added:
    """A prepared base: its folder, the digest that contracts name, whether it is new."""

    folder: Path
    digest: str
    new: bool


def find(name: str, home: Home) -> Path:
    """The folder of a base, shipped or prepared; raises Refused with what makes it available, and
    Finding where something else has its place."""
    if name not in preparable():
        return plugins.base_folder(name)
    folder = home.base(name)
    if not _there(folder):
        raise Refused(
            "BASE_NOT_ADDED",
            f"base {name!r} is not prepared in {home.root}; run `rsi base add {name}` once",
        )
    return folder


def pin(name: str, home: Home) -> str:
    """The digest for a new contract; raises Finding where a prepared base is not as recorded."""
    folder = find(name, home)
    return _checked(folder) if name in preparable() else digest_of(folder)


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
    with _disk(folder), _alone(folder.parent):
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
    if folder.is_symlink() or not folder.is_dir():
        raise _damaged(folder, "it is no folder")
    return True


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """Turn an operating system error at the disk into Broken."""
    try:
        yield
    except OSError as cause:
        place = cause.filename or folder
        reason = f"base {folder.name}: {place}: {cause.strerror or cause}"
        again = f"run `rsi base add {folder.name}` again"
        raise Broken("DISK", f"{reason}; free or repair the disk, then {again}") from cause


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
            shutil.rmtree(left)
        yield


def _prepare(folder: Path, write: Callable[[Path], None]) -> str:
    """Have a draft written, judged and recorded, then give it its name; returns its digest."""
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=DRAFT))
    try:
        write(draft)
        files = _judged(draft, folder.name)
        write_file(draft / DIGESTS, _record(files))
        for path in draft.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        draft.rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return _digest(files)


def _judged(draft: Path, name: str) -> dict[str, str]:
    """The digests of what the program left; raises Broken where it is no folder of a base."""
    try:
        files = _files(draft)
        absent = [needed for needed in NEEDED if needed not in files]
        if absent:
            raise ValueError(f"{absent[0]} is missing")
        if DIGESTS in files:
            raise ValueError(f"the name {DIGESTS} is taken for the record")
        _legible(draft)
    except (ValueError, Misuse) as cause:
        reason = " ".join(str(cause).split())[:_CHARACTERS]
        told = f"preparing {name}: its program reported success, but {reason}"
        raise Broken("BASE_FAILED", f"{told}; report it to the package of the base") from cause
    return files


def _legible(folder: Path) -> None:
    """Raise ValueError or Misuse unless weights, configuration and tokenizer can be read.

    Of the weights the header is read, which must cover the file: they may be larger than memory.
    """
    try:
        with safe_open(folder / WEIGHTS, framework="numpy") as weights:
            if not weights.keys():
                raise ValueError(f"{WEIGHTS} holds no tensor")
    except SafetensorError as cause:
        raise ValueError(f"{WEIGHTS} is not a safetensors file: {cause}") from cause
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except ValueError as cause:
        raise ValueError(f"{CONFIG} is not JSON: {cause}") from cause
    if not isinstance(config, dict):
        raise ValueError(f"{CONFIG} is not an object")
    vocabulary.length(folder)


def _checked(folder: Path) -> str:
    """The digest; raises Finding where a file is missing, new or another than was recorded."""
    with _disk(folder):
        try:
            files = _files(folder)
        except Misuse as cause:
            raise _damaged(folder, cause.message) from cause
        record = (folder / DIGESTS).read_bytes() if files.pop(DIGESTS, None) else b""
    lines = record.decode(errors="replace").split("\n")[:-1]
    recorded = {line[66:]: f"sha256:{line[:64]}" for line in lines}
    if record != _record(recorded) or not recorded.keys() >= set(NEEDED):
        raise _damaged(folder, f"{DIGESTS} is not as it was written")
    odd = sorted(name for name, _ in files.items() ^ recorded.items())
    if odd:
        raise _damaged(folder, f"{odd[0]} is not as it was added")
    return _digest(recorded)


def _damaged(folder: Path, what: str) -> Finding:
    fix = f"remove {folder} and run `rsi base add {folder.name}` again"
    return Finding("BASE_DAMAGED", f"{folder}: {what}; {fix}")


def _files(folder: Path) -> dict[str, str]:
    """The digest of each file by name, each read once; raises Misuse for what is no plain file."""
    with os.scandir(folder) as entries:
        odd = sorted(entry.name for entry in entries if not entry.is_file(follow_symlinks=False))
    if odd:
        raise Misuse("NOT_A_PLAIN_FILE", f"{odd[0]} is a folder, link or special file")
    found: dict[str, str] = {}
    for name, descriptor in plain_files(folder):
        with os.fdopen(descriptor, "rb") as file:
            found[name] = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    return found


def _record(files: dict[str, str]) -> bytes:
    """The text of `DIGESTS`, as `sha256sum` would write it."""
    return "".join(f"{value[7:]}  {name}\n" for name, value in sorted(files.items())).encode()


def _digest(files: dict[str, str]) -> str:
    """What `digest_of` says of the folder with its record, without reading the files again."""
    return digest(encode({"files": {**files, DIGESTS: digest(_record(files))}}))
