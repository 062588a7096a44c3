"""A disk that is full: a limit on the size of files stands for it."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_disk(free: int = 4_096) -> Iterator[None]:
    """No file of this process grows beyond `free` bytes.

    Start no other Python meanwhile: it would leave cut bytecode, as this process would if it wrote
    any.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        sys.dont_write_bytecode = written
