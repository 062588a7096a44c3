"""Stores in memory, as strict as the real ones, and time and ids that a test owns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rsi_master.adapters.store.folder import check_name
from rsi_master.adapters.store.objects import manifest, missing, replaced
from rsi_master.core.artifact import Artifact, Kind
from rsi_master.core.canonical import digest as digest_of
from rsi_master.core.canonical import encode
from rsi_master.core.errors import Broken, Finding, Misuse
from rsi_master.expos.merkle import leaf_hash


class MemoryEvents:
    """An EventStore whose `table` a test may tamper with; `capacity` bodies fill its disk."""

    def __init__(self, capacity: int = 1_000_000) -> None:
        self.table: list[tuple[int, bytes, bytes]] = []
        self.batches: list[int] = []
        self._capacity = capacity

    def append(self, bodies: Sequence[bytes]) -> None:
        """Keep the bodies, all or none."""
        if len(self.table) + len(bodies) > self._capacity:
            raise Broken("LEDGER_STORE", "memory: database or disk is full")
        rows = enumerate(bodies, self.size())
        self.table += [(position, leaf_hash(body), body) for position, body in rows]
        self.batches.append(len(bodies))

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
        """Position, stored leaf hash and body as they stand."""
        return (row for row in tuple(self.table) if row[0] >= start)

    def size(self) -> int:
        """How many bodies are stored, from the highest position."""
        return self.table[-1][0] + 1 if self.table else 0

    def close(self) -> None:
        """Nothing to release."""


class MemoryNotes:
    """Notes by file name."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def put(self, size: int, text: str) -> None:
        """Keep the note over the first `size` events."""
        self.texts[f"{size:012}.note"] = text

    def all(self) -> tuple[tuple[str, str], ...]:
        """Name and text of each note, smallest first."""
        return tuple(sorted(self.texts.items()))


class MemoryObjects:
    """An ObjectStore; a test may put other bytes under a digest in `blobs`."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}

    def put_bytes(self, kind: Kind, data: bytes) -> Artifact:
        """Store one blob."""
        digest = digest_of(data)
        if self.blobs.setdefault(digest, data) != data:
            raise replaced(digest)
        return Artifact(digest=digest, kind=kind, size=len(data))

    def put_folder(self, kind: Kind, folder: Path) -> Artifact:
        """Store a folder of plain files; links and other kinds are refused."""
        files: dict[str, str] = {}
        total = 0
        for path in sorted(folder.rglob("*")):
            name = check_name(path.relative_to(folder).as_posix())
            if path.is_dir() and not path.is_symlink():
                continue
            shared = kind != "base" and path.stat().st_nlink != 1
            if path.is_symlink() or not path.is_file() or shared:
                raise Misuse("NOT_A_PLAIN_FILE", f"{name} is a link or special file; write a copy")
            blob = self.put_bytes(kind, path.read_bytes())
            files[name] = blob.digest
            total += blob.size
        data = encode({"files": files})
        digest = digest_of(data)
        self.manifests[digest] = data
        return Artifact(digest=digest, kind=kind, size=total, files=len(files))

    def get_bytes(self, digest: str) -> bytes:
        """The blob; raises Finding when it is missing or its bytes do not match."""
        return _sound(digest, self.blobs)

    def files(self, digest: str) -> dict[str, str]:
        """Name to blob digest of a folder artifact."""
        return manifest(digest, _sound(digest, self.manifests))

    def materialise(self, digest: str, target: Path) -> None:
        """Lay the artifact at `target`, which must not exist, read-only."""
        if digest not in self.manifests:
            _lay(target, self.get_bytes(digest))
            return
        target.mkdir()
        for name, blob in self.files(digest).items():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            _lay(target / name, self.get_bytes(blob))

    def check(self, digest: str) -> str | None:
        """None when present and sound, else what is wrong in a few words."""
        try:
            if digest not in self.manifests:
                self.get_bytes(digest)
                return None
            for blob in self.files(digest).values():
                self.get_bytes(blob)
        except Finding as found:
            return found.message
        return None


@dataclass
class ManualClock:
    """A clock that moves when a test moves it."""

    at: float = 1_000_000.0

    def now(self) -> float:
        """Seconds since the epoch, as set."""
        return self.at

    def monotonic(self) -> float:
        """The same seconds."""
        return self.at


@dataclass
class CountedIds:
    """uuid7-shaped texts in order of birth."""

    count: int = 0

    def fresh(self) -> str:
        """The next id."""
        self.count += 1
        return f"00000000-0000-7000-8000-{self.count:012}"


def _sound(digest: str, shelf: dict[str, bytes]) -> bytes:
    if not digest.startswith("sha256:") or len(digest) != 71:
        raise Misuse("DIGEST", f"{digest!r} is not a digest; give sha256: and 64 hex digits")
    if digest not in shelf:
        raise missing(digest)
    if digest_of(shelf[digest]) != digest:
        raise replaced(digest)
    return shelf[digest]


def _lay(target: Path, data: bytes) -> None:
    if target.exists():
        raise Broken("DISK", f"laying out {target.name}: File exists")
    target.write_bytes(data)
    target.chmod(0o444)
