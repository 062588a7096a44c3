"""The exam counter: each opening of a holdout is on disk before the first item is generated."""

import fcntl
import os
import time
from pathlib import Path

from pydantic import ValidationError

from rsi_master.core.errors import PolicyDenied, SealUnavailable
from rsi_master.core.model import Value
from rsi_master.programs.sealed.vault import OPENINGS


class Opening(Value):
    """One claim: its name, the digest of the champion's tensors, seconds since the epoch."""

    name: str
    weights: str
    at: float


class Registry:
    """The openings of one set, shared by all processes that serve it, kept in its folder.

    The file is opened while its owner still may, and used after the drop of privileges. A torn
    last line is an opening that was never granted.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._path = folder / OPENINGS
        self._limit = limit
        self._file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def open(self, name: str, weights: str) -> None:
        """Grant an opening, or recall that the same one was granted; raises PolicyDenied."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            self._grant(Opening(name=name, weights=weights, at=time.time()))
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _grant(self, wanted: Opening) -> None:
        granted = self._granted()
        for opening in granted:
            if opening.name == wanted.name and opening.weights == wanted.weights:
                return
        if len(granted) >= self._limit:
            names = ", ".join(opening.name for opening in granted)
            raise PolicyDenied(
                "EXAM_SPENT",
                f"claim {wanted.name!r}: the holdout was opened {len(granted)} of {self._limit} "
                f"times, by {names}; seal a new set for another claim",
            )
        os.write(self._file, wanted.model_dump_json().encode() + b"\n")
        os.fsync(self._file)

    def _granted(self) -> list[Opening]:
        data = os.pread(self._file, os.fstat(self._file).st_size, 0)
        whole, newline, torn = data.rpartition(b"\n")
        if torn:
            os.ftruncate(self._file, len(whole) + len(newline))
        try:
            return [Opening.model_validate_json(line) for line in whole.splitlines()]
        except ValidationError as cause:
            raise SealUnavailable("SEAL_DAMAGED", f"{self._path} is not readable") from cause
