"""The ledger: one order, one transaction for an append, groups, followers, and a closed failure."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from rsi_master.core.action import OS
from rsi_master.core.errors import Broken, Finding, Misuse, Refused, RsiError
from rsi_master.core.event import Codec, Event, Fact
from rsi_master.expos.ledger import Ledger, Stamp
from rsi_master.expos.merkle import leaf_hash, root_of
from rsi_master.expos.notary import Notary
from rsi_master.expos.notes import Note, Signer
from rsi_master.testing.stores import CountedIds, ManualClock, MemoryEvents, MemoryNotes

CONTRACT = "sha256:" + "0" * 64
SIGNER = Signer("rsi", Ed25519PrivateKey.generate())


class Moved(Fact):
    """Something went somewhere."""

    type: ClassVar[str] = "moved"
    to: str


class Paid(Fact):
    """Something was paid."""

    type: ClassVar[str] = "paid"
    seconds: float


class Unknown(Fact):
    """A fact that the codec does not know."""

    type: ClassVar[str] = "unknown"


class SlowEvents(MemoryEvents):
    """A disk that answers when `gate` opens."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def append(self, bodies: Sequence[bytes]) -> None:
        """Wait for the gate, then keep the bodies."""
        assert self.gate.wait(10)
        super().append(bodies)


class Bench:
    """The parts around a ledger that outlive it."""

    def __init__(self, store: MemoryEvents | None = None) -> None:
        self.store = store or MemoryEvents()
        self.notes = MemoryNotes()
        self.clock = ManualClock()
        self.ids = CountedIds()
        self.seen: list[Event] = []

    def open(
        self,
        on_event: Callable[[Event], None] | None = None,
        every: int = 256,
        signer: Signer = SIGNER,
        contract: str = CONTRACT,
    ) -> Ledger:
        """A ledger over these parts."""
        self.seen = []
        return Ledger(
            self.store,
            Codec((Moved, Paid)),
            Stamp(self.clock, self.ids, contract),
            on_event or self.seen.append,
            Notary("run-1", signer, self.notes, every),
        )


@contextmanager
def refused(kind: type[RsiError], code: str) -> Iterator[None]:
    """Expect an error of this kind and code."""
    with pytest.raises(kind) as caught:
        yield
    assert caught.value.code == code


def test_events_get_position_time_id_and_contract() -> None:
    bench = Bench()
    with bench.open() as ledger:
        events = ledger.append(OS, (Moved(to="a"), Paid(seconds=float("inf")))).wait()
        bench.clock.at += 5
        (third,) = ledger.append(OS, (Moved(to="b"),)).wait()
        assert list(ledger.events(1)) == [events[1], third]
    assert [event.position for event in (*events, third)] == [0, 1, 2]
    assert len({event.id for event in bench.seen}) == 3
    assert third.at == events[0].at + 5
    assert third.contract == CONTRACT
    assert bench.seen == [*events, third]


def test_a_clock_that_jumps_back_does_not_turn_the_order() -> None:
    bench = Bench()
    with bench.open() as ledger:
        (before,) = ledger.append(OS, (Moved(to="a"),)).wait()
        bench.clock.at -= 3600
        (after,) = ledger.append(OS, (Moved(to="b"),)).wait()
    assert after.at == before.at
    with bench.open() as ledger:
        (later,) = ledger.append(OS, (Moved(to="c"),)).wait()
    assert later.at == before.at


def test_a_reopened_ledger_gives_the_same_state_and_goes_on() -> None:
    bench = Bench()
    with bench.open() as ledger:
        ledger.append(OS, [Moved(to=str(at)) for at in range(5)]).wait()
    before = bench.seen
    with bench.open() as ledger:
        assert bench.seen == before
        (event,) = ledger.append(OS, (Moved(to="on"),)).wait()
    assert event.position == 5


def test_state_follows_at_once_and_durability_later() -> None:
    store = SlowEvents()
    bench = Bench(store)
    with bench.open() as ledger:
        ticket = ledger.append(OS, (Moved(to="a"),))
        assert [event.position for event in bench.seen] == [0]
        with refused(Broken, "LEDGER_SLOW"):
            ticket.wait(0.01)
        assert list(ledger.events()) == []
        store.gate.set()
        assert ticket.wait()[0].position == 0
        assert len(list(ledger.events())) == 1


def test_what_waits_is_written_in_one_transaction() -> None:
    store = SlowEvents()
    bench = Bench(store)
    with bench.open() as ledger:
        tickets = [ledger.append(OS, (Moved(to="a"), Moved(to="b"))) for _ in range(50)]
        store.gate.set()
        positions = [event.position for ticket in tickets for event in ticket.wait()]
    assert positions == list(range(100))
    assert len(store.batches) <= 2
    assert sum(store.batches) == 100


def test_many_threads_get_one_order() -> None:
    bench = Bench()
    positions: list[int] = []

    def produce(ledger: Ledger) -> None:
        for at in range(50):
            events = ledger.append(OS, (Moved(to=str(at)), Paid(seconds=at))).wait()
            assert events[1].position == events[0].position + 1
            positions.extend(event.position for event in events)

    with bench.open() as ledger:
        threads = [threading.Thread(target=produce, args=(ledger,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert [event.position for event in ledger.events()] == list(range(800))
    assert sorted(positions) == list(range(800))
    assert [event.position for event in bench.seen] == list(range(800))


def test_a_follower_wakes_when_an_event_is_durable() -> None:
    store = SlowEvents()
    bench = Bench(store)
    with bench.open() as ledger:
        assert not ledger.wait_beyond(-1, 0.01)
        ledger.append(OS, (Moved(to="a"),))
        assert not ledger.wait_beyond(-1, 0.01)
        threading.Timer(0.05, store.gate.set).start()
        begin = time.monotonic()
        assert ledger.wait_beyond(-1, 10)
        assert time.monotonic() - begin < 5
        assert not ledger.wait_beyond(0, 0.01)
    with refused(Broken, "LEDGER_CLOSED"):
        ledger.wait_beyond(0, 10)


def test_a_full_disk_ends_the_ledger_for_everyone() -> None:
    bench = Bench(MemoryEvents(capacity=2))
    ledger = bench.open()
    ledger.append(OS, (Moved(to="a"),)).wait()
    lost = ledger.append(OS, (Moved(to="b"), Moved(to="c")))
    with pytest.raises(Broken, match="disk is full"):
        lost.wait()
    with refused(Broken, "LEDGER_DEAD"):
        ledger.append(OS, (Moved(to="d"),))
    with refused(Broken, "LEDGER_DEAD"):
        ledger.note()
    with refused(Broken, "LEDGER_DEAD"):
        ledger.wait_beyond(0, 10)
    with refused(Broken, "LEDGER_DEAD"):
        ledger.close()
    with bench.open():
        assert [event.position for event in bench.seen] == [0]


def test_a_state_that_fails_on_an_event_ends_the_ledger() -> None:
    bench = Bench()
    taken: list[Event] = []

    def project(event: Event) -> None:
        if event.position == 2:
            raise ZeroDivisionError
        taken.append(event)

    ledger = bench.open(project)
    ledger.append(OS, (Moved(to="a"),)).wait()
    with pytest.raises(ZeroDivisionError):
        ledger.append(OS, (Moved(to="b"), Moved(to="c")))
    with refused(Broken, "LEDGER_DEAD"):
        ledger.append(OS, (Moved(to="d"),))
    with refused(Broken, "LEDGER_DEAD"):
        ledger.close()
    assert bench.store.size() == 1


def test_a_fact_that_could_not_be_read_back_changes_nothing() -> None:
    bench = Bench()
    with bench.open() as ledger:
        with refused(Misuse, "FACT_UNREADABLE"):
            ledger.append(OS, (Moved(to="a"), Unknown()))
        (event,) = ledger.append(OS, (Moved(to="b"),)).wait()
    assert event.position == 0
    assert bench.seen == [event]


def test_notes_at_intervals_on_request_and_at_the_end() -> None:
    bench = Bench()
    with bench.open(every=4) as ledger:
        ledger.append(OS, [Moved(to=str(at)) for at in range(9)]).wait()
        note = ledger.note()
        assert ledger.note() is note
        ledger.append(OS, (Moved(to="last"),)).wait()
    notes = [Note.parse(text) for _, text in bench.notes.all()]
    assert [saved.size for saved in notes] == [4, 8, 9, 10]
    assert bench.notes.all()[0][0] == "000000000004.note"
    leaves = [leaf_hash(body) for body in bench.store.read()]
    for saved in notes:
        SIGNER.verifier.verify(saved)
        assert saved.root == root_of(leaves[: saved.size])


@pytest.mark.parametrize(("size", "signed"), [(3, []), (5, [5])])
def test_a_head_that_an_owner_died_before_signing_is_signed_by_the_next(
    size: int, signed: list[int]
) -> None:
    bench = Bench()
    with bench.open(every=4) as ledger:
        ledger.append(OS, [Moved(to=str(at)) for at in range(size)]).wait()
    bench.notes.texts.clear()
    with bench.open(every=4):
        assert [Note.parse(text).size for _, text in bench.notes.all()] == signed


def test_an_empty_ledger_leaves_no_note() -> None:
    bench = Bench()
    bench.open().close()
    assert bench.notes.all() == ()


def test_a_closed_ledger_takes_nothing_and_closes_again() -> None:
    ledger = Bench().open()
    ledger.close()
    ledger.close()
    with refused(Broken, "LEDGER_CLOSED"):
        ledger.append(OS, (Moved(to="a"),))


def filled() -> Bench:
    """A closed run of six events with notes at 4 and 6."""
    bench = Bench()
    with bench.open(every=4) as ledger:
        ledger.append(OS, [Moved(to=str(at)) for at in range(6)]).wait()
    return bench


def test_a_ledger_shorter_than_its_note_is_a_truncation() -> None:
    bench = filled()
    del bench.store.table[-1]
    with refused(Finding, "LEDGER_TRUNCATED"):
        bench.open()


def test_a_changed_event_is_found_on_opening_though_its_hash_was_fixed() -> None:
    bench = filled()
    position, _, body = bench.store.table[1]
    body = body.replace(b'"to":"1"', b'"to":"9"')
    bench.store.table[1] = (position, leaf_hash(body), body)
    with refused(Finding, "LEDGER_ALTERED"):
        bench.open()


def test_an_event_at_another_position_is_found_on_opening() -> None:
    bench = filled()
    (_, first, one), (_, second, two) = bench.store.table[:2]
    bench.store.table[:2] = [(0, second, two), (1, first, one)]
    with refused(Finding, "LEDGER_DISORDERED"):
        bench.open()


def test_another_contract_or_key_or_run_does_not_open_it() -> None:
    bench = filled()
    with refused(Refused, "CONTRACT_CHANGED"):
        bench.open(contract="sha256:" + "1" * 64)
    with refused(Finding, "NOTE_WRONG_KEY"):
        bench.open(signer=Signer("rsi", Ed25519PrivateKey.generate()))
    foreign = SIGNER.sign("run-2", 6, b"\x00" * 32)
    bench.notes.put(6, foreign.text())
    with refused(Finding, "NOTE_FOREIGN"):
        bench.open()
