"""Reading a run without owning it: projections from the ledger, and verification."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rsi_master.adapters.store.notes import NoteFolder
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.laws import laws
from rsi_master.core.contract import Contract, parse
from rsi_master.core.errors import Misuse, RsiError
from rsi_master.core.event import Event
from rsi_master.core.facts import CODEC, artifacts
from rsi_master.core.state import State
from rsi_master.expos.notes import Verifier, load_key
from rsi_master.expos.promises import promises
from rsi_master.expos.verify import Anchor, Reading, Report, RunRecord, verify


@dataclass(frozen=True)
class Record:
    """A run as its ledger tells it now."""

    folder: RunFolder
    contract: Contract
    state: State
    events: tuple[Event, ...]


def read(folder: RunFolder) -> Record:
    """Replay the durable events; the owner may go on writing meanwhile."""
    folder.require()
    contract = folder.contract()
    events = tuple(follow(folder))
    return Record(folder, contract, State.replay(contract, events), events)


def follow(folder: RunFolder, start: int = 0) -> Iterator[Event]:
    """The durable events from a position on."""
    store = SqliteEvents.reader(folder.ledger)
    try:
        for body in store.read(start):
            yield CODEC.read(body)
    finally:
        store.close()


def recorded(folder: RunFolder, position: int) -> bytes:
    """The body of a durable event exactly as it was recorded, in the shape of its own version."""
    store = SqliteEvents.reader(folder.ledger)
    try:
        return next(store.read(position))
    finally:
        store.close()


def check(
    folder: RunFolder,
    key: Path | None = None,
    notes: tuple[Path, ...] = (),
    home: Home | None = None,
) -> Report:
    """Verify the record against its notes and those that others hold.

    `key` is a file with the public key. Without it a run that `home` started is held against the
    key of `home`, any other against the one in its folder: see `trust`.
    """
    folder.require()
    store = SqliteEvents.reader(folder.ledger)
    try:
        # A living owner signs on: only what was durable before the notes were read is due by now.
        durable = store.size()
        record = RunRecord(
            origin=folder.id,
            table=store,
            notes=NoteFolder(folder.notes).all(),
            objects=FolderObjects(folder.objects),
            contract=folder.contract_text(),
            key=_verifier(folder, key, home),
            anchors=tuple(Anchor(by=f"file {path.name}", text=_text(path)) for path in notes),
        )
        reading = Reading(
            codec=CODEC,
            references=lambda event: tuple(a.digest for a in artifacts(event)),
            contract_digest=lambda text: parse(text, "contract.toml").digest(),
            promised=lambda events: promises(events[:durable]),
            checks=laws(record.objects, _readable(folder)),
        )
        return verify(record, reading)
    finally:
        store.close()


def _readable(folder: RunFolder) -> Contract | None:
    """The contract, or None where verification finds that it cannot be read."""
    try:
        return folder.contract()
    except RsiError:
        return None


def trust(folder: RunFolder, home: Home, key: Path | None = None) -> str:
    """In words, which key a verification relies on and why it may be trusted."""
    used = _verifier(folder, key, home)
    name = f"{used.name}+{used.key_hash.hex()}"
    if key is not None:
        return f"{name}, from {key.name}"
    if home.key.is_file() and os.access(home.key, os.R_OK) and load_key(home.key).verifier == used:
        return f"{name}, this installation's own"
    return f"{name}, as the folder itself says; ask the signer for it and pass --key"


def _verifier(folder: RunFolder, key: Path | None, home: Home | None) -> Verifier:
    if key is None and home is not None and home.knows(folder.id) and home.key.is_file():
        return load_key(home.key).verifier
    return Verifier.parse(_text(key or folder.verifier_file))


def _text(path: Path) -> str:
    if not path.is_file():
        raise Misuse("UNREADABLE", f"{path} is missing or no plain file")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise Misuse("UNREADABLE", f"{path} cannot be read: {cause}") from cause
