"""Signed notes: the head of a ledger in the C2SP checkpoint form, with Ed25519 signature lines.

    <origin>
    <size, decimal>
    <root, base64>

    — <name> <base64(key hash || signature)>

Further lines are room for cosignatures; lines by unknown keys are kept and prove nothing. A note
holds against everyone but the holder of the key. c2sp.org/signed-note, c2sp.org/tlog-checkpoint.
"""

import base64
import binascii
import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from rsi_master.core.errors import Broken, Finding, Misuse, Refused

ED25519 = b"\x01"
# Characters of a refused text that an error repeats.
TOLD = 40
_NAME = re.compile(r"[^\s+\x00-\x1f\x7f]+")
_SIGNATURE = re.compile(r"— ([^\s+\x00-\x1f\x7f]+) ([A-Za-z0-9+/]+={0,2})")
_SIZE = re.compile(r"0|[1-9][0-9]{0,17}")
_PRIVATE = "PRIVATE+KEY+"


@dataclass(frozen=True)
class Signature:
    """One signature line: `key_hash` (4 bytes) hints at the key, `value` is the signature."""

    name: str
    key_hash: bytes
    value: bytes

    def line(self) -> str:
        """The line of the note, without its end."""
        return f"— {self.name} {_base64(self.key_hash + self.value)}"


@dataclass(frozen=True)
class Note:
    """A head: `root` (32 bytes) commits to the first `size` events of the run `origin`."""

    origin: str
    size: int
    root: bytes
    signatures: tuple[Signature, ...]

    def body(self) -> bytes:
        """The signed bytes."""
        return head_bytes(self.origin, self.size, self.root)

    def text(self) -> str:
        """The note as it is written; `parse` reads it back."""
        lines = "".join(signature.line() + "\n" for signature in self.signatures)
        return f"{self.body().decode()}\n{lines}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a note; raises Finding with the line that is off. Verifies no signature."""
        head, gap, tail = text.partition("\n\n")
        lines = head.split("\n")
        if not gap or len(lines) != 3:
            raise _unreadable("it has not three lines, a blank line and signatures")
        origin, size, root = lines
        if not origin or any(ord(letter) < 32 for letter in origin):
            raise _unreadable(f"origin {origin!r} is not a run")
        if not _SIZE.fullmatch(size):
            raise _unreadable(f"size {size!r} is not a plain decimal number")
        if not tail.endswith("\n"):
            raise _unreadable("its last line has no end")
        signatures = tuple(_signature(line) for line in tail[:-1].split("\n"))
        return cls(origin, int(size), _unbase64(root, "root", 32), signatures)


@dataclass(frozen=True)
class Verifier:
    """The public half of a key, under its name: `name+hash+base64` in writing."""

    name: str
    key: bytes

    @property
    def key_hash(self) -> bytes:
        """The four bytes that tell keys of one name apart."""
        return hashlib.sha256(self.name.encode() + b"\n" + ED25519 + self.key).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_hash.hex()}+{_base64(ED25519 + self.key)}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a written public key; raises Misuse."""
        name, _, rest = text.strip().partition("+")
        key_hash, _, key = rest.partition("+")
        told = text[:TOLD] + "…" * (len(text) > TOLD)
        try:
            raw = base64.b64decode(key, validate=True)
        except ValueError as cause:
            raise Misuse("PUBLIC_KEY", f"public key {told!r} is not base64: {cause}") from cause
        found = cls(name, raw[1:])
        if len(raw) != 33 or raw[:1] != ED25519 or found.key_hash.hex() != key_hash:
            raise Misuse("PUBLIC_KEY", f"public key {told!r} is not name+hash+base64 of Ed25519")
        return found

    def verify(self, note: Note) -> None:
        """Raise Finding unless the note bears a good signature by this key."""
        mine = [s for s in note.signatures if (s.name, s.key_hash) == (self.name, self.key_hash)]
        if not mine:
            others = ", ".join(f"{s.name}+{s.key_hash.hex()}" for s in note.signatures)
            key = f"{self.name}+{self.key_hash.hex()}"
            raise Finding("NOTE_WRONG_KEY", f"note {note.size} is signed by {others}, not by {key}")
        public = Ed25519PublicKey.from_public_bytes(self.key)
        for signature in mine:
            try:
                public.verify(signature.value, note.body())
            except InvalidSignature as cause:
                reason = f"note {note.size}: the signature by {self.name} does not fit its text"
                raise Finding("NOTE_FORGED", reason) from cause


class Signer:
    """A private key under its name; `verifier` is what others need."""

    def __init__(self, name: str, key: Ed25519PrivateKey) -> None:
        if not _NAME.fullmatch(name):
            raise Misuse("KEY_NAME", f"key name {name!r} must not hold spaces or plus signs")
        self._key = key
        self.verifier = Verifier(name, key.public_key().public_bytes_raw())

    def sign(self, origin: str, size: int, root: bytes) -> Note:
        """The signed head."""
        value = self._key.sign(head_bytes(origin, size, root))
        signature = Signature(self.verifier.name, self.verifier.key_hash, value)
        return Note(origin, size, root, (signature,))


def head_bytes(origin: str, size: int, root: bytes) -> bytes:
    """The three signed lines."""
    return f"{origin}\n{size}\n{_base64(root)}\n".encode()


def create_key(path: Path, name: str) -> Signer:
    """Write a new private key, mode 0600, whole or not at all; an existing file is Refused.

    Keep it outside the run's folder, which may be copied.
    """
    key = Ed25519PrivateKey.generate()
    signer = Signer(name, key)
    secret = _base64(ED25519 + key.private_bytes_raw())
    text = f"{_PRIVATE}{name}+{signer.verifier.key_hash.hex()}+{secret}\n"
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(partial, flags, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.link(partial, path)
    except FileExistsError as cause:
        raise Refused(
            "KEY_EXISTS", f"{path.name} exists; load it or choose another path"
        ) from cause
    except OSError as cause:
        raise Broken("KEY_UNWRITTEN", f"signing key {path.name}: {cause.strerror}") from cause
    finally:
        partial.unlink(missing_ok=True)
    return signer


def load_key(path: Path) -> Signer:
    """Read a private key; Refused when others may read it, or it is not one."""
    try:
        with path.open(encoding="utf-8") as stream:
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            text = stream.read(1000).strip()
    except (OSError, UnicodeDecodeError) as cause:
        raise Refused("KEY_UNREADABLE", f"signing key {path.name}: {cause}") from cause
    if mode & 0o077:
        raise Refused("KEY_EXPOSED", f"{path.name} has mode {mode:04o}; run chmod 600 on it")
    name, _, rest = text.removeprefix(_PRIVATE).partition("+")
    key_hash, _, secret = rest.partition("+")
    try:
        raw = base64.b64decode(secret, validate=True)
        signer = Signer(name, Ed25519PrivateKey.from_private_bytes(raw[1:]))
    except (ValueError, Misuse) as cause:
        raise Refused("KEY_UNREADABLE", f"{path.name} is not a private signing key") from cause
    if raw[:1] != ED25519 or signer.verifier.key_hash.hex() != key_hash:
        raise Refused("KEY_UNREADABLE", f"{path.name} is damaged: its key hash does not fit")
    return signer


def _signature(line: str) -> Signature:
    match = _SIGNATURE.fullmatch(line)
    if match is None:
        raise _unreadable(f"{line!r} is not a signature line")
    raw = _unbase64(match[2], "signature", None)
    if len(raw) <= 4:
        raise _unreadable(f"signature by {match[1]} is empty")
    return Signature(match[1], raw[:4], raw[4:])


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _unbase64(text: str, what: str, size: int | None) -> bytes:
    """Strict: only the one spelling that encoding gives, so that a note has one text."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as cause:
        raise _unreadable(f"{what} {text!r} is not base64") from cause
    if _base64(data) != text or (size is not None and len(data) != size):
        raise _unreadable(f"{what} {text!r} is not canonical base64 of the right length")
    return data


def _unreadable(reason: str) -> Finding:
    return Finding("NOTE_UNREADABLE", f"note cannot be read: {reason}")
