"""Removing what a job left, however it is built: deep, unreadable, full of links."""

import contextlib
import os
import stat
from pathlib import Path


def remove_tree(root: Path) -> None:
    """Remove the folder and all below it, as far as this user may; never raises for what it holds.

    Folders are moved up beside `root` before they are emptied, so no path grows long and nothing
    recurses. Links are removed, never followed.
    """
    waiting, number = [root], 0
    while waiting:
        folder = waiting.pop()
        for path in _entries(folder):
            with contextlib.suppress(OSError):
                if not stat.S_ISDIR(path.lstat().st_mode):
                    path.unlink()
                    continue
                number += 1
                beside = root.with_name(f".{root.name}.{os.getpid()}.{number}")
                path.rename(beside)
                waiting.append(beside)
        with contextlib.suppress(OSError):
            folder.rmdir()


def _entries(folder: Path) -> list[Path]:
    try:
        if folder.is_symlink() or not folder.is_dir():
            return []
        folder.chmod(0o700)
        return list(folder.iterdir())
    except OSError:
        return []
