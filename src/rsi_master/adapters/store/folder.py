"""Collects the plain files of a folder that a job wrote, without following anything it planted."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from rsi_master.core.errors import Misuse

MAX_FILES = 10_000
MAX_DEPTH = 16
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def check_name(name: str) -> str:
    """The name if it is a plain relative path, else Misuse."""
    parts = name.split("/")
    odd = any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in name)
    unreadable = any(0xD800 <= ord(letter) <= 0xDFFF for letter in name)
    if odd or unreadable or any(part in ("", ".", "..") for part in parts):
        raise Misuse("FILE_NAME", f"file name {name!r} is not a plain relative path; rename it")
    return name


def plain_files(folder: Path, *, shared: bool = False) -> Iterator[tuple[str, int]]:
    """Relative name and an open descriptor, which the caller closes, of each file, sorted.

    Links, devices, pipes and sockets are refused with Misuse, and files with a second name unless
    they may be `shared`, as installers share those of a package. Empty folders leave no trace.
    """
    root = os.open(folder, _FOLDER)
    try:
        for count, found in enumerate(_walk(root, "", 0, shared)):
            if count >= MAX_FILES:
                os.close(found[1])
                raise Misuse("FOLDER_TOO_LARGE", f"{folder.name} holds more than {MAX_FILES} files")
            yield found
    finally:
        os.close(root)


def _walk(folder: int, prefix: str, depth: int, shared: bool) -> Iterator[tuple[str, int]]:
    if depth > MAX_DEPTH:
        raise Misuse("FOLDER_TOO_DEEP", f"{prefix} is more than {MAX_DEPTH} folders deep")
    for entry in sorted(os.listdir(folder)):
        name = check_name(prefix + entry)
        mode = os.stat(entry, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            inner = os.open(entry, _FOLDER, dir_fd=folder)
            try:
                yield from _walk(inner, name + "/", depth + 1, shared)
            finally:
                os.close(inner)
        elif stat.S_ISREG(mode):
            yield name, _open_plain(folder, entry, name, shared)
        else:
            raise Misuse("NOT_A_PLAIN_FILE", f"{name} is a link or special file; write a copy")


def _open_plain(folder: int, entry: str, name: str, shared: bool) -> int:
    descriptor = os.open(entry, _FILE, dir_fd=folder)
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and (shared or status.st_nlink == 1):
        return descriptor
    os.close(descriptor)
    raise Misuse("NOT_A_PLAIN_FILE", f"{name} is a hard link or special file; write a copy")
