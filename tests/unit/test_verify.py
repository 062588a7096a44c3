"""Verification: any single tampering with a record is found, and named where it can be."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi_master.adapters.store.notes import NoteFolder
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.core.action import OS
from rsi_master.core.artifact import Digest
from rsi_master.core.canonical import decode, digest, encode
from rsi_master.core.errors import Finding, Misuse
from rsi_master.core.event import Codec, Event, Fact
from rsi_master.expos.ledger import Ledger, Stamp
from rsi_master.expos.merkle import Tree, leaf_hash
from rsi_master.expos.notary import Notary
from rsi_master.expos.notes import Note, Signer
from rsi_master.expos.order import Flaw
from rsi_master.expos.promises import Promise, promises
from rsi_master.expos.verify import Anchor, Reading, Report, RunRecord, verify
from rsi_master.testing.stores import (
    CountedIds,
    ManualClock,
    MemoryEvents,
    MemoryNotes,
    MemoryObjects,
)

SIGNER = Signer("rsi", Ed25519PrivateKey.from_private_bytes(b"\x05" * 32))
CONTRACT = 'capability = "adds numbers"\n'
EVERY = 4
UNSIGNED = "not signed: anyone could have written it"


class Stored(Fact):
    """Data was stored."""

    type: ClassVar[str] = "stored"
    data: Digest


class Moved(Fact):
    """Something went somewhere."""

    type: ClassVar[str] = "moved"
    to: str


def contract_digest(text: str) -> str:
    """The digest of a contract, which may not be empty."""
    if not text.strip():
        raise Misuse("CONTRACT", "the contract is empty")
    return digest(text.encode())


def references(event: Event) -> Sequence[str]:
    """The artifacts that an event names."""
    return (event.fact.data,) if isinstance(event.fact, Stored) else ()


def promised(events: Sequence[Event]) -> tuple[Promise, ...]:
    """What a record implies when a head is signed every four events."""
    return promises(events, EVERY)


READING = Reading(Codec((Stored, Moved)), references, contract_digest, promised)


class Run:
    """A small finished run in memory: `size` events, a note every four and at the end."""

    def __init__(self, size: int = 12) -> None:
        self.store, self.notes, self.objects = MemoryEvents(), MemoryNotes(), MemoryObjects()
        self.contract = CONTRACT
        self.anchors: tuple[Anchor, ...] = ()
        stamp = Stamp(ManualClock(), CountedIds(), contract_digest(CONTRACT))
        notary = Notary("run-1", SIGNER, self.notes, EVERY)
        with Ledger(self.store, READING.codec, stamp, lambda event: None, notary) as ledger:
            for at in range(size):
                ledger.append(OS, (self.fact(at),)).wait()

    def fact(self, at: int) -> Fact:
        """Every third event names an artifact."""
        if at % 3:
            return Moved(to=f"place {at}")
        return Stored(data=self.objects.put_bytes("log", f"artifact {at}".encode()).digest)

    def verify(self, reading: Reading = READING) -> Report:
        """The report on the record as it is now."""
        record = RunRecord(
            origin="run-1",
            table=self.store,
            notes=self.notes.all(),
            objects=self.objects,
            contract=self.contract,
            key=SIGNER.verifier,
            anchors=self.anchors,
        )
        return verify(record, reading)

    def flaws(self) -> list[tuple[str, str]]:
        """Code and place of everything that is wrong."""
        return [(flaw.code, flaw.where) for flaw in self.verify().flaws]

    def bodies(self) -> list[bytes]:
        """The stored bodies."""
        return [body for _, _, body in self.store.table]

    def forge(self, bodies: Sequence[bytes]) -> None:
        """Replace the table, stored hashes and positions made to fit: the best an outsider can."""
        self.store.table = [(at, leaf_hash(body), body) for at, body in enumerate(bodies)]

    def sign(self, bodies: Sequence[bytes]) -> Note:
        """What the holder of the key can sign over any bodies."""
        tree = Tree()
        for body in bodies:
            tree.append(leaf_hash(body))
        return SIGNER.sign("run-1", tree.size, tree.root())


def renumbered(bodies: Sequence[bytes]) -> list[bytes]:
    """Bodies with their own positions rewritten to where they stand."""
    values = [decode(body) for body in bodies]
    return [encode({**value, "position": at}) for at, value in enumerate(values)]  # type: ignore[dict-item]


def edited(body: bytes, to: str = "elsewhere") -> bytes:
    """A readable body of the same event with another fact."""
    return re.sub(rb'"place \d+"|"sha256:[0-9a-f]{64}"(?=})', f'"{to}"'.encode(), body, count=1)


def test_an_untouched_run_is_sound() -> None:
    report = Run(10).verify()
    assert report.sound
    assert (report.events, report.signed, report.artifacts) == (10, 10, 4)
    assert report.anchor == "operator-signed only, all 10 events"


def test_an_empty_run_is_sound_and_not_signed() -> None:
    report = Run(0).verify()
    assert report.sound
    assert (report.events, report.signed, report.anchor) == (0, 0, UNSIGNED)


tamperings = st.sampled_from(["flip", "drop", "insert", "swap", "truncate", "artifact", "contract"])


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 14), tamperings, st.booleans(), st.data())
def test_any_single_tampering_is_found(
    size: int, kind: str, fixed: bool, data: st.DataObject
) -> None:
    """`fixed`: the stored hashes and positions are made to fit afterwards."""
    run = Run(size)
    table = run.store.table
    at = data.draw(st.integers(0, size - 1), "event")
    match kind:
        case "flip":
            position, leaf, body = table[at]
            byte = data.draw(st.integers(0, len(body) - 1), "byte")
            mask = 1 << data.draw(st.integers(0, 7), "bit")
            table[at] = (
                position,
                leaf,
                body[:byte] + bytes([body[byte] ^ mask]) + body[byte + 1 :],
            )
        case "drop":
            del table[at]
        case "insert":
            table.insert(at, data.draw(st.sampled_from(table), "copy"))
        case "swap":
            other = data.draw(st.integers(0, size - 1).filter(lambda index: index != at), "other")
            table[at], table[other] = table[other], table[at]
        case "truncate":
            del table[at:]
        case "artifact":
            name = data.draw(st.sampled_from(sorted(run.objects.blobs)), "artifact")
            run.objects.blobs[name] = run.objects.blobs[name][:-1] + b"?"
        case "contract":
            run.contract += "budget = 1000000\n"
    if fixed:
        run.forge(run.bodies())
    assert not run.verify().sound


@settings(deadline=None, max_examples=50)
@given(st.integers(5, 14), st.sampled_from(["edit", "drop", "insert", "swap"]), st.data())
def test_a_perfect_forgery_is_bracketed_by_the_notes(
    size: int, kind: str, data: st.DataObject
) -> None:
    """Every byte but the signatures is made to fit: positions in the bodies as well."""
    run = Run(size)
    bodies = run.bodies()
    at = data.draw(st.integers(0, size - 2).filter(lambda index: index % 3), "event")
    match kind:
        case "edit":
            bodies[at] = edited(bodies[at])
        case "drop":
            del bodies[at]
        case "insert":
            bodies.insert(at, edited(bodies[at]))
        case "swap":
            bodies[at], bodies[at + 1] = bodies[at + 1], bodies[at]
    run.forge(renumbered(bodies))
    low = at // EVERY * EVERY
    changed = [where for code, where in run.flaws() if code == "EVENTS_CHANGED"]
    cut = [where for code, where in run.flaws() if code == "LEDGER_TRUNCATED"]
    assert changed or cut
    if changed:
        assert changed[0].startswith((f"events {low} to", f"event {low}"))


class TestPlaces:
    """Each kind of damage is named at its place."""

    def test_a_flipped_byte(self) -> None:
        run = Run()
        position, leaf, body = run.store.table[7]
        run.store.table[7] = (position, leaf, edited(body))
        assert run.flaws() == [("EVENT_ALTERED", "event 7")]
        assert run.verify().signed == 4

    def test_an_edit_with_its_stored_hash_fixed(self) -> None:
        run = Run()
        bodies = run.bodies()
        bodies[7] = edited(bodies[7])
        run.forge(bodies)
        assert run.flaws() == [("EVENTS_CHANGED", "events 4 to 7")]

    def test_two_edits_one_of_them_with_its_hash_fixed(self) -> None:
        run = Run()
        bodies = run.bodies()
        bodies[10] = edited(bodies[10])
        run.forge(bodies)
        position, leaf, body = run.store.table[1]
        run.store.table[1] = (position, leaf, edited(body))
        assert run.flaws() == [("EVENT_ALTERED", "event 1"), ("EVENTS_CHANGED", "events 8 to 11")]

    def test_removed_events(self) -> None:
        run = Run()
        del run.store.table[5:7]
        assert ("EVENT_REMOVED", "events 5 to 6") in run.flaws()

    def test_an_inserted_event(self) -> None:
        run = Run()
        bodies = run.bodies()
        run.forge([*bodies[:6], edited(bodies[5], "nowhere"), *bodies[6:]])
        assert ("EVENT_INSERTED", "event 5") in run.flaws()

    def test_reordered_events(self) -> None:
        run = Run()
        bodies = run.bodies()
        bodies[3], bodies[4] = bodies[4], bodies[3]
        run.forge(bodies)
        assert ("EVENT_REORDERED", "event 3") in run.flaws()

    def test_shifted_positions(self) -> None:
        run = Run()
        run.store.table = [(at + 1, leaf, body) for at, leaf, body in run.store.table]
        assert run.flaws() == [("EVENT_MISPLACED", "events 0 to 11")]

    def test_a_removed_tail(self) -> None:
        run = Run()
        del run.store.table[9:]
        assert run.flaws() == [("LEDGER_TRUNCATED", "events 9 to 11")]

    def test_unreadable_bytes(self) -> None:
        run = Run()
        position, _, _ = run.store.table[2]
        run.store.table[2] = (position, leaf_hash(b"\xff"), b"\xff")
        assert ("EVENT_UNREADABLE", "event 2") in run.flaws()

    def test_replaced_and_missing_artifacts(self) -> None:
        run = Run()
        first, second = (digest(f"artifact {at}".encode()) for at in (3, 6))
        run.objects.blobs[first] = b"other"
        del run.objects.blobs[second]
        flaws = run.verify().flaws
        assert [(flaw.code, flaw.where) for flaw in flaws] == [
            ("ARTIFACT_UNSOUND", first),
            ("ARTIFACT_UNSOUND", second),
        ]
        assert "named by event 3" in flaws[0].what
        assert "missing" in flaws[1].what

    def test_a_replaced_contract(self) -> None:
        run = Run()
        run.contract = CONTRACT.replace("adds", "guesses")
        assert run.flaws() == [("CONTRACT_REPLACED", "contract.toml")]
        run.contract = ""
        assert run.flaws() == [("CONTRACT_UNREADABLE", "contract.toml")]

    def test_an_event_under_another_contract(self) -> None:
        run = Run()
        value = decode(run.bodies()[8])
        assert isinstance(value, dict)
        other = encode({**value, "contract": "sha256:" + "9" * 64})
        run.store.table[8] = (8, leaf_hash(other), other)
        assert ("CONTRACT_DIFFERS", "event 8") in run.flaws()

    def test_time_that_runs_back(self) -> None:
        run = Run()
        value = decode(run.bodies()[8])
        assert isinstance(value, dict)
        early = encode({**value, "at": 5.0})
        run.store.table[8] = (8, leaf_hash(early), early)
        assert ("TIME_RUNS_BACK", "event 8") in run.flaws()


class TestNotes:
    """What signed notes show, and what only someone else's note shows."""

    def test_a_note_that_is_torn_forged_or_foreign(self) -> None:
        run = Run()
        texts = run.notes.texts
        texts["000000000004.note"] = "torn"
        texts["000000000008.note"] = texts["000000000008.note"].replace("\n8\n", "\n9\n")
        texts["000000000012.note"] = SIGNER.sign("run-2", 12, b"\x00" * 32).text()
        assert run.flaws() == [
            ("NOTE_UNREADABLE", "notes/000000000004.note"),
            ("NOTE_FORGED", "notes/000000000008.note"),
            ("NOTE_FOREIGN", "notes/000000000012.note"),
            ("NOTE_MISSING", "events 0 to 11"),
        ]
        assert run.verify().anchor == UNSIGNED

    def test_a_record_signed_anew_by_an_outsider(self) -> None:
        run = Run()
        stranger = Signer("rsi", Ed25519PrivateKey.generate())
        for name, text in run.notes.all():
            note = Note.parse(text)
            run.notes.texts[name] = stranger.sign("run-1", note.size, note.root).text()
        assert {code for code, _ in run.flaws()} == {"NOTE_WRONG_KEY", "NOTE_MISSING"}

    def test_a_history_rewritten_by_the_operator_is_found_by_who_holds_a_note(self) -> None:
        run = Run()
        held = run.notes.texts["000000000008.note"]
        bodies = run.bodies()
        bodies[5] = edited(bodies[5])
        run.forge(bodies)
        for size in (8, 12):
            run.notes.put(size, run.sign(bodies[:size]).text())
        assert run.verify().sound
        run.anchors = (Anchor("git 1a2b3c", held),)
        assert run.flaws() == [("FORK", "note held by git 1a2b3c")]

    def test_a_longer_note_than_the_cut_history_is_found_by_who_holds_it(self) -> None:
        run = Run()
        held = run.notes.texts.pop("000000000012.note")
        del run.store.table[8:]
        assert run.verify().sound
        run.anchors = (Anchor("a colleague", held),)
        assert run.flaws() == [("LEDGER_TRUNCATED", "events 8 to 11")]

    def test_a_note_of_another_history_below_one_that_fits(self) -> None:
        run = Run()
        forked = run.sign(renumbered(run.bodies()[1:8]))
        run.anchors = (Anchor("a colleague", forked.text()),)
        assert run.flaws() == [("FORK", "note held by a colleague")]

    def test_an_anchor_that_fits_is_named(self) -> None:
        run = Run()
        texts = run.notes.texts
        run.anchors = (
            Anchor("a colleague", texts["000000000004.note"]),
            Anchor("git 1a2b3c", texts["000000000008.note"]),
        )
        report = run.verify()
        assert report.sound
        assert report.anchor == "anchored by git 1a2b3c, the first 8 of 12 events"

    def test_events_after_the_last_note_are_counted_as_unsigned(self) -> None:
        run = Run(10)
        del run.notes.texts["000000000010.note"]
        report = run.verify()
        assert report.sound
        assert report.events - report.signed == 2
        assert report.anchor == "operator-signed only, the first 8 of 10 events"

    @pytest.mark.parametrize(
        ("size", "kept", "missing"),
        [(12, (), "events 0 to 11"), (10, (4,), "events 4 to 7"), (9, (8,), None), (3, (), None)],
    )
    def test_a_record_without_the_notes_that_it_implies(
        self, size: int, kept: tuple[int, ...], missing: str | None
    ) -> None:
        run = Run(size)
        run.notes.texts = {
            name: text for name, text in run.notes.texts.items() if int(name[:12]) in kept
        }
        assert run.flaws() == ([("NOTE_MISSING", missing)] if missing else [])
        assert (run.verify().anchor == UNSIGNED) is not bool(kept)

    def test_a_note_held_by_somebody_else_covers_what_lost_its_own(self) -> None:
        run = Run()
        run.anchors = (Anchor("a colleague", run.notes.texts["000000000012.note"]),)
        run.notes.texts.clear()
        assert run.flaws() == []


def unpaid(events: Sequence[Event]) -> Sequence[Flaw]:
    """A law that every run breaks at its last event."""
    return (Flaw(code="UNPAID", where=f"event {events[-1].position}", what="was never paid"),)


def test_further_laws_are_checked_on_an_undamaged_record() -> None:
    run = Run()
    reading = Reading(READING.codec, references, contract_digest, promised, (unpaid,))
    assert [flaw.code for flaw in run.verify(reading).flaws] == ["UNPAID"]
    del run.store.table[-1]
    codes = [flaw.code for flaw in run.verify(reading).flaws]
    assert codes == ["LEDGER_TRUNCATED", "LAWS_UNCHECKED"]


def change_body(path: Path) -> None:
    """Flip a byte of an event in the file of the database."""
    path.write_bytes(path.read_bytes().replace(b"place 5", b"place 6", 1))


def cut_file(path: Path) -> None:
    """Cut the file of the database."""
    path.write_bytes(path.read_bytes()[:6000])


@pytest.mark.parametrize(
    ("damage", "code"), [(change_body, "EVENT_ALTERED"), (cut_file, "LEDGER_DAMAGED")]
)
def test_damage_of_the_files_of_a_run(
    tmp_path: Path, damage: Callable[[Path], None], code: str
) -> None:
    objects, notes = FolderObjects(tmp_path / "objects"), NoteFolder(tmp_path / "notes")
    store = SqliteEvents(tmp_path / "ledger.db")
    stamp = Stamp(ManualClock(), CountedIds(), contract_digest(CONTRACT))
    notary = Notary("run-1", SIGNER, notes, EVERY)
    with Ledger(store, READING.codec, stamp, lambda event: None, notary) as ledger:
        stored = objects.put_bytes("log", b"words")
        ledger.append(
            OS, (Stored(data=stored.digest), *(Moved(to=f"place {i}") for i in range(40)))
        )
    store.close()

    def codes() -> list[str]:
        try:
            table = SqliteEvents.reader(tmp_path / "ledger.db")
        except Finding as found:
            return [found.code]
        record = RunRecord("run-1", table, notes.all(), objects, CONTRACT, SIGNER.verifier)
        report = verify(record, READING)
        table.close()
        return [flaw.code for flaw in report.flaws]

    assert codes() == []
    damage(tmp_path / "ledger.db")
    assert code in codes()
