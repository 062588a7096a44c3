"""What is written for a person: whole, or nothing is changed. Drafts lie beside it meanwhile.

A place that cannot be is Misuse, a disk that fails is Broken. A kill may leave a file or folder
with the prefix `.incoming-`.
"""

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from rsi_master.adapters.store.durable import incoming, laid, publish
from rsi_master.core.errors import Broken, Misuse

_OF_THE_PLACE: Final = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files into a folder, which is made, over those of before."""
    with _told(folder), ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        drafts = {name: stack.enter_context(incoming(folder)) for name in texts}
        for name, (stream, _) in drafts.items():
            stream.write(texts[name].encode())
            stream.flush()
        for name, (stream, path) in drafts.items():
            publish(stream, path, folder / name, _mode())


def write_new(target: Path, text: str) -> None:
    """Write a file; raises Misuse where there is something."""
    absent(target)
    with _told(target), incoming(target.parent) as (stream, path):
        stream.write(text.encode())
        stream.flush()
        try:
            target.open("x").close()  # the name is ours from here on
        except FileExistsError:
            absent(target)
            raise
        try:
            publish(stream, path, target, _mode())
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def lay_new(target: Path, lay: Callable[[Path], None]) -> None:
    """Have a file or a folder laid by `lay`, then give it its name; raises Misuse where there is
    something."""
    absent(target)
    with _told(target), laid(target) as draft:
        lay(draft)
        absent(target)


def absent(target: Path) -> None:
    """Raise Misuse where there is something, be it a broken link."""
    if os.path.lexists(target):
        raise Misuse("EXISTS", f"{target} exists and is not overwritten; name another --out")


@contextmanager
def _told(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as cause:
        told = f"{target} cannot be written: {cause.strerror or cause}"
        if cause.errno in _OF_THE_PLACE:
            raise Misuse("UNWRITABLE", f"{told}; name another --out") from cause
        raise Broken("DISK", f"{told}; free or repair the disk, then run this again") from cause


def _mode() -> int:
    """The mode of a new file of this user."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
