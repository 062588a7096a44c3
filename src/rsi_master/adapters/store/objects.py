"""Artifacts as files named by their digest: `<root>/ab/cdef…`, a folder's manifest with `.folder`.

The suffix, not the content, says what is a manifest, so no blob can pass for a folder. Durable on
return. Files are mode 0444, which is no protection against their owner: bytes are checked on read.
"""

import hashlib
import io
import os
import re
from pathlib import Path
from typing import BinaryIO

from rsi_master.adapters.store.durable import disk, incoming, make_folder, publish, sync_folder
from rsi_master.adapters.store.folder import check_name, plain_files
from rsi_master.core.artifact import Artifact, Kind
from rsi_master.core.canonical import decode, encode
from rsi_master.core.errors import Finding, Misuse

CHUNK = 1 << 20
MANIFEST = ".folder"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


class FolderObjects:
    """The object store of one run; `root` is its `objects` folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put_bytes(self, kind: Kind, data: bytes) -> Artifact:
        """Store one blob."""
        name, size = self._take(io.BytesIO(data))
        return Artifact(digest=name, kind=kind, size=size)

    def put_folder(self, kind: Kind, folder: Path) -> Artifact:
        """Store a folder of plain files as a manifest of blobs; anything else is refused.

        Those of a base may be shared by an installer.
        """
        files: dict[str, str] = {}
        total = 0
        with disk(f"collecting {folder.name}"):
            for name, descriptor in plain_files(folder, shared=kind == "base"):
                with os.fdopen(descriptor, "rb") as source:
                    files[name], size = self._take(source)
                total += size
        name, _ = self._take(io.BytesIO(encode({"files": files})), MANIFEST)
        return Artifact(digest=name, kind=kind, size=total, files=len(files))

    def get_bytes(self, digest: str) -> bytes:
        """The blob; raises Finding when it is missing or its bytes do not match."""
        return self._read(digest, self._path(digest))

    def files(self, digest: str) -> dict[str, str]:
        """Name to blob digest of a folder artifact; raises Finding when it is not one."""
        return manifest(digest, self._read(digest, self._path(digest, MANIFEST)))

    def materialise(self, digest: str, target: Path) -> None:
        """Lay the artifact at `target`, which must not exist; files are read-only (0444).

        Every byte is checked while it is copied. After an error `target` may be incomplete.
        """
        with disk(f"laying out {digest[:19]}"):
            if not self._path(digest, MANIFEST).exists():
                self._lay(digest, target)
                return
            target.mkdir()
            for name, blob in self.files(digest).items():
                place = target / name
                place.parent.mkdir(parents=True, exist_ok=True)
                self._lay(blob, place)

    def check(self, digest: str) -> str | None:
        """None when present and sound, else what is wrong in a few words."""
        try:
            if not self._path(digest, MANIFEST).exists():
                return fault(digest, self._path(digest))
            files = self.files(digest)
        except Finding as found:
            return found.message
        faults = ((name, fault(blob, self._path(blob))) for name, blob in files.items())
        return next((f"{name}: {what}" for name, what in faults if what), None)

    def _path(self, digest: str, suffix: str = "") -> Path:
        match = _DIGEST.fullmatch(digest)
        if match is None:
            raise Misuse("DIGEST", f"{digest!r} is not a digest; give sha256: and 64 hex digits")
        return self._root / match[1][:2] / (match[1][2:] + suffix)

    def _read(self, digest: str, path: Path) -> bytes:
        try:
            data = path.read_bytes()
        except FileNotFoundError as cause:
            raise missing(digest) from cause
        if "sha256:" + hashlib.sha256(data).hexdigest() != digest:
            raise replaced(digest)
        return data

    def _take(self, source: BinaryIO, suffix: str = "") -> tuple[str, int]:
        with disk("storing an artifact"):
            make_folder(self._root)
            with incoming(self._root) as (stream, path):
                digest, size = copy(source, stream)
                target = self._path(digest, suffix)
                if not target.exists():
                    make_folder(target.parent)
                    publish(stream, path, target, 0o444)
                elif fault(digest, target):
                    raise replaced(digest)
                else:
                    sync_folder(target.parent)
        return digest, size

    def _lay(self, digest: str, target: Path) -> None:
        try:
            source = self._path(digest).open("rb")
        except FileNotFoundError as cause:
            raise missing(digest) from cause
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with source, os.fdopen(os.open(target, flags, 0o444), "wb") as stream:
            if copy(source, stream)[0] != digest:
                target.unlink()
                raise replaced(digest)


def fault(digest: str, path: Path) -> str | None:
    """What is wrong with the file of a digest, if anything."""
    if not path.is_file():
        return "missing"
    with disk(f"reading {digest[:19]}"), path.open("rb") as stream:
        found = "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
    return None if found == digest else "replaced: its bytes do not match its digest"


def copy(source: BinaryIO, target: BinaryIO) -> tuple[str, int]:
    """Copy a stream; the digest and the number of the bytes that passed."""
    state, size = hashlib.sha256(), 0
    while chunk := source.read(CHUNK):
        state.update(chunk)
        size += len(chunk)
        target.write(chunk)
    return "sha256:" + state.hexdigest(), size


def manifest(digest: str, data: bytes) -> dict[str, str]:
    """The files of a folder's manifest, names and digests checked; raises Finding."""
    try:
        value = decode(data)
        if isinstance(value, dict) and isinstance(value.get("files"), dict):
            files = {check_name(name): str(blob) for name, blob in value["files"].items()}
            if all(_DIGEST.fullmatch(blob) for blob in files.values()):
                return files
    except (ValueError, Misuse) as cause:
        raise Finding("MANIFEST_UNREADABLE", f"{digest} is not a folder: {cause}") from cause
    raise Finding("MANIFEST_UNREADABLE", f"{digest} is not the manifest of a folder")


def missing(digest: str) -> Finding:
    """The finding that nothing of this kind is stored under the digest."""
    return Finding("ARTIFACT_MISSING", f"artifact {digest} is missing from the record")


def replaced(digest: str) -> Finding:
    """The finding that other bytes stand under the digest."""
    return Finding("ARTIFACT_REPLACED", f"artifact {digest}: its bytes do not match its digest")
