"""Verification of a record by anyone who holds it and the public key: what is wrong, and where.

Not found: a whole history that the key's holder wrote anew and signed anew, unless someone else
holds an earlier note (an anchor); events after the last note that were cut or written by others.
Of a record without any note, `anchor` says that nobody vouches for it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rsi_master.core.errors import Finding, RsiError
from rsi_master.core.event import Codec, Event
from rsi_master.core.model import Value
from rsi_master.core.ports import ObjectStore
from rsi_master.expos.heads import Head, Leaves, judge_heads
from rsi_master.expos.merkle import leaf_hash, root_of
from rsi_master.expos.notes import Note, Verifier
from rsi_master.expos.order import Flaw, judge_order, span
from rsi_master.expos.promises import Promise

CHECKED_AFTER = "lineage and books were not checked, since events are damaged"


class EventRows(Protocol):
    """The stored table as it stands."""

    def rows(self, start: int = 0) -> Iterator[tuple[int, bytes, bytes]]:
        """Position, stored leaf hash and body, unchecked, in order of position."""


@dataclass(frozen=True)
class Anchor:
    """A note that someone else holds: the text, and who (`file head.note`, `git 1a2b3c`)."""

    by: str
    text: str


@dataclass(frozen=True)
class RunRecord:
    """A run as it lies there: `notes` are (file name, text), `contract` the text of its file."""

    origin: str
    table: EventRows
    notes: Sequence[tuple[str, str]]
    objects: ObjectStore
    contract: str
    key: Verifier
    anchors: Sequence[Anchor] = ()


@dataclass(frozen=True)
class Reading:
    """How to understand the record: events, the artifacts they name, the contract, the signed heads
    that the events imply, and the laws."""

    codec: Codec
    references: Callable[[Event], Sequence[str]]
    contract_digest: Callable[[str], str]
    promised: Callable[[Sequence[Event]], Sequence[Promise]]
    checks: Sequence[Callable[[Sequence[Event]], Sequence[Flaw]]] = ()


class Report(Value):
    """What verification saw. `signed`: how many events a good note covers; `root` in hex."""

    origin: str
    events: int
    signed: int
    artifacts: int
    root: str
    anchor: str
    flaws: tuple[Flaw, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.flaws


@dataclass(frozen=True)
class _Row:
    position: int
    leaf: bytes
    body: bytes
    event: Event | None


def verify(record: RunRecord, reading: Reading) -> Report:
    """Check everything that the record commits to; never raises for what the record says."""
    flaws: list[Flaw] = []
    rows = _rows(record, reading.codec, flaws)
    flaws += judge_order([(row.position, row.event) for row in rows])
    events = [row.event for row in rows if row.event is not None]
    leaves = Leaves([leaf_hash(row.body) for row in rows], [row.leaf for row in rows])
    heads = _notes(record, flaws)
    judged = judge_heads(leaves, heads)
    flaws += judged.flaws
    damaged = bool(flaws)
    flaws += _unsigned(reading.promised(events), heads)
    flaws += _contract(record.contract, reading, events)
    artifacts = _artifacts(events, reading)
    flaws += _unsound(artifacts, record.objects)
    flaws += _laws(events, reading, damaged=damaged)
    return Report(
        origin=record.origin,
        events=len(rows),
        signed=judged.signed,
        artifacts=len(artifacts),
        root=root_of(leaves.actual).hex(),
        anchor=judged.anchor,
        flaws=tuple(flaws),
    )


def _rows(record: RunRecord, codec: Codec, flaws: list[Flaw]) -> list[_Row]:
    rows: list[_Row] = []
    try:
        for position, leaf, body in record.table.rows():
            where = f"event {position}"
            if leaf != leaf_hash(body):
                what = "its bytes do not match the hash stored beside them"
                flaws.append(Flaw(code="EVENT_ALTERED", where=where, what=what))
            event: Event | None = None
            try:
                event = codec.read(body)
            except Finding as found:
                flaws.append(Flaw(code=found.code, where=where, what=found.message))
            rows.append(_Row(position, leaf, body, event))
    except Finding as found:
        where = f"after event {rows[-1].position}" if rows else "ledger.db"
        flaws.append(Flaw(code=found.code, where=where, what=found.message))
    return rows


def _notes(record: RunRecord, flaws: list[Flaw]) -> list[Head]:
    """The notes that verify, the operator's own and those that others hold."""
    own = [(f"notes/{name}", text, None) for name, text in record.notes]
    held = [(f"note held by {anchor.by}", anchor.text, anchor.by) for anchor in record.anchors]
    heads: list[Head] = []
    for where, text, holder in (*own, *held):
        try:
            note = Note.parse(text)
            record.key.verify(note)
        except Finding as found:
            flaws.append(Flaw(code=found.code, where=where, what=found.message))
            continue
        if note.origin == record.origin:
            heads.append(Head(where, note, holder))
        else:
            what = f"it is of run {note.origin}, not of {record.origin}"
            flaws.append(Flaw(code="NOTE_FOREIGN", where=where, what=what))
    return heads


def _unsigned(promised: Sequence[Promise], heads: Sequence[Head]) -> list[Flaw]:
    """The promise that reaches furthest beyond the longest head, fitting or reported otherwise."""
    longest = max((head.note.size for head in heads), default=0)
    missing = [promise for promise in promised if promise.size > longest]
    if not missing:
        return []
    furthest = max(missing, key=lambda promise: promise.size)
    what = (
        f"no signed head covers this, though {furthest.why}: the notes were removed, or the owner "
        "died before it signed; restore notes/, or know that `rsi resume` signs what it finds"
    )
    return [Flaw(code="NOTE_MISSING", where=span(longest, furthest.size - 1), what=what)]


def _contract(text: str, reading: Reading, events: Sequence[Event]) -> list[Flaw]:
    try:
        digest = reading.contract_digest(text)
    except RsiError as problem:
        return [Flaw(code="CONTRACT_UNREADABLE", where="contract.toml", what=problem.message)]
    strangers = [event for event in events if event.contract != digest]
    if not strangers:
        return []
    named = strangers[0].contract
    if len({event.contract for event in events}) == 1:
        what = f"its digest is {digest}, the events are under {named}"
        return [Flaw(code="CONTRACT_REPLACED", where="contract.toml", what=what)]
    where = f"event {strangers[0].position}"
    return [Flaw(code="CONTRACT_DIFFERS", where=where, what=f"it is under contract {named}")]


def _artifacts(events: Sequence[Event], reading: Reading) -> dict[str, int]:
    """Each artifact named by an event, with the position of the first that does."""
    first: dict[str, int] = {}
    for event in events:
        for digest in reading.references(event):
            first.setdefault(digest, event.position)
    return first


def _unsound(artifacts: dict[str, int], objects: ObjectStore) -> list[Flaw]:
    faults = ((digest, objects.check(digest), named) for digest, named in artifacts.items())
    return [
        Flaw(code="ARTIFACT_UNSOUND", where=digest, what=f"{fault} (named by event {named})")
        for digest, fault, named in faults
        if fault is not None
    ]


def _laws(events: Sequence[Event], reading: Reading, *, damaged: bool) -> list[Flaw]:
    """The laws of the caller, on an undamaged sequence only: they may rely on its order."""
    if not reading.checks:
        return []
    if damaged:
        return [Flaw(code="LAWS_UNCHECKED", where="ledger", what=CHECKED_AFTER)]
    return [flaw for check in reading.checks for flaw in check(events)]
