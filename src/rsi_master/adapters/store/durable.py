"""Files that are whole or absent: written beside their name, synced, renamed, folder synced.

A crash may leave a file or folder with the prefix `.incoming-`; nothing reads those.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from rsi_master.core.errors import Broken

PREFIX = ".incoming-"


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create `folder`, whose parent exists, with a durable name."""
    if not folder.is_dir():
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


@contextmanager
def incoming(folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file in `folder` to write and `publish`; it is removed if it was not published."""
    descriptor, name = tempfile.mkstemp(prefix=PREFIX, dir=folder)
    path = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream, path
    finally:
        path.unlink(missing_ok=True)


def publish(stream: BinaryIO, path: Path, target: Path, mode: int) -> None:
    """Give the written file its final name, durably; an existing target is replaced."""
    stream.flush()
    os.fchmod(stream.fileno(), mode)
    os.fsync(stream.fileno())
    path.rename(target)
    sync_folder(target.parent)


def write_file(target: Path, data: bytes, mode: int = 0o644) -> None:
    """Write a whole small file atomically and durably."""
    with incoming(target.parent) as (stream, path):
        stream.write(data)
        publish(stream, path, target, mode)


@contextmanager
def laid(target: Path) -> Iterator[Path]:
    """A free place for a new file or folder, which gets the name `target` at the end of the block;
    after an error it is removed."""
    beside = Path(tempfile.mkdtemp(prefix=PREFIX, dir=target.parent))
    try:
        yield beside / "new"
        (beside / "new").rename(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


@contextmanager
def disk(what: str, then: str = "resume") -> Iterator[None]:
    """Turn an operating system error at the disk into Broken, naming what was being done and what
    to do when the disk is well again."""
    try:
        yield
    except OSError as cause:
        reason = f"{what}: {cause.strerror or cause}"
        raise Broken("DISK", f"{reason}; free or repair the disk, then {then}") from cause
