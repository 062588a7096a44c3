"""The digest of a folder, from its definition: what stores and bases must say of it."""

import hashlib
from pathlib import Path

from rsi_master.core.canonical import digest, encode


def digest_of(folder: Path) -> str:
    """The digest of the manifest of a folder of plain files, which lie in it or below."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    hashes = {name: f"sha256:{hashlib.sha256(data).hexdigest()}" for name, data in files.items()}
    return digest(encode({"files": hashes}))
