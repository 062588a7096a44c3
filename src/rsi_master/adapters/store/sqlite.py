"""The append-only table of events in one SQLite file (WAL, synchronous FULL). A file that
is empty was cut: a ledger begins only where there is no file.

Durable on return of `append`; a crash loses at most the batch that it has not returned for. One
writer (held by the run's lock, not here); any number of readers in other processes.
"""

import hashlib
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self

from rsi_master.core.errors import Broken, Finding, Misuse, Refused

SCHEMA = 1
BUSY_SECONDS = 10.0
CHUNK = 512
UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_CREATE = (
    "CREATE TABLE events (position INTEGER PRIMARY KEY, leaf BLOB NOT NULL, body BLOB NOT NULL)"
)
_INSERT = "INSERT INTO events (position, leaf, body) VALUES (?, ?, ?)"
_SELECT = (
    "SELECT position, CAST(leaf AS BLOB), CAST(body AS BLOB) FROM events"
    " WHERE position >= ? ORDER BY position LIMIT ?"
)


class SqliteEvents:
    """Events with the RFC 6962 hash of each beside it, so that damage is found where it is."""

    def __init__(self, path: Path, mode: Literal["rwc", "ro"] = "rwc") -> None:
        self._path = path
        self._lock = threading.Lock()
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        with self._translated():
            self._connection = self._open_writer() if mode == "rwc" else self._open_reader()
            last = self._connection.execute("SELECT max(position) FROM events").fetchone()[0]
        self._next = 0 if last is None else last + 1

    @classmethod
    def reader(cls, path: Path) -> Self:
        """Open read-only: beside a living writer, after a crash, or on a read-only folder."""
        return cls(path, mode="ro")

    def append(self, bodies: Sequence[bytes]) -> None:
        """Write the exact bytes, all or none, durable on return; raises Broken."""
        rows = [(self._next + at, leaf_hash(body), body) for at, body in enumerate(bodies)]
        with self._lock, self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(_INSERT, rows)
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._next += len(rows)

    def read(self, start: int = 0) -> Iterator[bytes]:
        """The bodies from `start` on; raises Finding at the first that is missing or altered."""
        for expected, (position, leaf, body) in enumerate(self.rows(start), start):
            if position != expected:
                raise Finding("EVENT_REMOVED", f"ledger: event {expected} is missing")
            if leaf != leaf_hash(body):
                raise Finding(
                    "EVENT_ALTERED", f"ledger: the bytes of event {position} were changed"
                )
            yield body

    def rows(self, start: int = 0) -> Iterator[tuple[int, bytes, bytes]]:
        """Position, stored leaf hash and body as they stand, unchecked, in order of position."""
        while True:
            with self._lock, self._translated():
                found = self._connection.execute(_SELECT, (start, CHUNK)).fetchall()
            yield from found
            if len(found) < CHUNK:
                return
            start = found[-1][0] + 1

    def size(self) -> int:
        """How many bodies are stored, from the highest position."""
        with self._lock, self._translated():
            last = self._connection.execute("SELECT max(position) FROM events").fetchone()[0]
        return 0 if last is None else int(last) + 1

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            self._connection.close()
        if self._copy is not None:
            self._copy.cleanup()

    def _open_writer(self) -> sqlite3.Connection:
        if self._path.is_file() and self._path.stat().st_size == 0:
            raise self._damaged("it is empty")
        connection = self._connect(self._path, "mode=rwc")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA):
            connection.close()
            raise Refused("LEDGER_SCHEMA", f"{self._path.name} has schema {version}, not {SCHEMA}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if version == 0:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_CREATE)
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            connection.execute("COMMIT")
        return connection

    def _open_reader(self) -> sqlite3.Connection:
        if not self._path.is_file():
            raise Misuse("NO_LEDGER", f"{self._path} does not exist; give the folder of a run")
        connection = self._connect(self._path, "mode=ro")
        try:
            connection.execute("SELECT 1 FROM events LIMIT 1").fetchall()
        except sqlite3.OperationalError as cause:
            connection.close()
            if cause.sqlite_errorcode == sqlite3.SQLITE_ERROR:
                raise self._damaged(str(cause)) from cause
            if cause.sqlite_errorcode & 0xFF not in UNWRITABLE:
                raise
            return self._open_without_writing()
        return connection

    def _open_without_writing(self) -> sqlite3.Connection:
        """Even a reader of a WAL file needs a `-shm` beside it; there is one while a writer lives.

        Where there is none and none can be made, the files stand still: read them, or a copy.
        """
        log = self._path.with_name(self._path.name + "-wal")
        if not log.is_file() or log.stat().st_size == 0:
            return self._connect(self._path, "immutable=1")
        self._copy = tempfile.TemporaryDirectory(prefix="rsi-ledger-")
        for source in (self._path, log):
            shutil.copyfile(source, Path(self._copy.name) / source.name)
        return self._connect(Path(self._copy.name) / self._path.name, "mode=ro")

    def _connect(self, path: Path, query: str) -> sqlite3.Connection:
        address = f"{path.absolute().as_uri()}?{query}"
        return sqlite3.connect(
            address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's errors into Broken (the machine) or Finding (the file itself)."""
        try:
            yield
        except (sqlite3.OperationalError, sqlite3.IntegrityError) as cause:
            fix = "free or repair the disk, then resume"
            raise Broken("LEDGER_STORE", f"{self._path.name}: {cause}; {fix}") from cause
        except sqlite3.DatabaseError as cause:
            raise self._damaged(str(cause)) from cause

    def _damaged(self, how: str) -> Finding:
        return Finding("LEDGER_DAMAGED", f"{self._path.name} is damaged: {how}")


def leaf_hash(body: bytes) -> bytes:
    """RFC 6962, section 2.1: the hash of a leaf."""
    return hashlib.sha256(b"\x00" + body).digest()
