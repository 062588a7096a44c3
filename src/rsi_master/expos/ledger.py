"""The ledger: facts become events in one order, durable in groups, under signed heads.

One process owns it. `append` orders an event and applies it to the state at once; it is on disk
when its ticket has been waited for. A crash may lose appended events whose ticket was not. After
the first failure of the store the ledger is dead: nothing more is accepted.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rsi_master.core.action import Caller
from rsi_master.core.errors import Broken, Finding, Misuse, Refused
from rsi_master.core.event import Codec, Event, Fact
from rsi_master.core.ports import Clock, EventStore, Ids
from rsi_master.expos.notary import Notary
from rsi_master.expos.notes import Note

PATIENCE = 60.0


@dataclass(frozen=True)
class Stamp:
    """What every event gets: time, id, and the digest of the contract that it happened under."""

    clock: Clock
    ids: Ids
    contract: str


class Ticket:
    """A promise of durability for the events of one `append`."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self._events = events
        self._done: Future[str | None] = Future()

    def wait(self, timeout: float = PATIENCE) -> tuple[Event, ...]:
        """The events, once they are durable; raises Broken when they may never be."""
        try:
            failure = self._done.result(timeout)
        except TimeoutError as cause:
            reason = f"no answer from the disk within {timeout:g} s; look at it, then resume"
            raise Broken("LEDGER_SLOW", f"ledger: {reason}") from cause
        if failure is not None:
            raise _dead(failure)
        return self._events

    def settle(self, failure: str | None) -> None:
        """Called once by the ledger: durable (None), or why not."""
        self._done.set_result(failure)


@dataclass(frozen=True)
class _Entry:
    bodies: tuple[bytes, ...]
    ticket: Ticket


class Ledger:
    """Opens `store`, replays its events through `on_event`, then appends; `close` ends it.

    `on_event` is called under the ledger's lock and must not append. The store stays the caller's
    to close. Raises Finding on opening a record that does not hold.
    """

    def __init__(
        self,
        store: EventStore,
        codec: Codec,
        stamp: Stamp,
        on_event: Callable[[Event], None],
        notary: Notary,
    ) -> None:
        self._store = store
        self._codec = codec
        self._stamp = stamp
        self._on_event = on_event
        self._notary = notary
        self._mutex = threading.Lock()
        self._changed = threading.Condition()
        self._queue: deque[_Entry] = deque()
        self._next = 0
        self._last_at = 0.0
        self._failure: str | None = None
        self._closing = self._ended = False
        self._replay()
        self._durable = self._next
        self._writer = threading.Thread(target=self._write, name="ledger-writer", daemon=True)
        self._writer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def append(self, caller: Caller, facts: Sequence[Fact]) -> Ticket:
        """Order the facts as consecutive events, all durable or none, and apply them to the state.

        Raises Misuse for a fact that could not be read back (nothing is changed then), Broken when
        the ledger is dead or closed.
        """
        with self._mutex:
            self._require_open()
            events = [self._event(caller, fact, at) for at, fact in enumerate(facts, self._next)]
            bodies = tuple(event.to_bytes() for event in events)
            read = tuple(map(self._readable, bodies))
            return self._accept(read, bodies)

    def events(self, start: int = 0) -> Iterator[Event]:
        """The durable events from position `start` on."""
        return map(self._codec.read, self._store.read(start))

    def wait_beyond(self, position: int, seconds: float) -> bool:
        """Block until an event after `position` (-1: any) is durable; false when time is over.

        Raises Broken when the ledger is dead or closed and none will come.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._durable > position + 1 or self._ended, seconds)
            if self._durable > position + 1:
                return True
        self._require_open()
        return False

    def note(self) -> Note:
        """A signed note over all events that are durable now, written beside the ledger."""
        self._require_open()
        return self._notary.sign()

    def close(self) -> None:
        """Write what is queued, sign the head, stop; raises Broken if events were lost."""
        with self._mutex, self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify_all()
        self._writer.join(PATIENCE)
        if self._writer.is_alive():
            self._die("the disk does not answer")
        if self._failure is not None:
            raise _dead(self._failure)
        if self._durable:
            self._notary.sign()

    def _replay(self) -> None:
        for body in self._store.read():
            event = self._codec.read(body)
            if event.position != self._next:
                what = f"event {event.position} stands at position {self._next}"
                raise Finding("LEDGER_DISORDERED", f"ledger: {what}; run `rsi verify`")
            if event.contract != self._stamp.contract:
                what = f"event {self._next} is under contract {event.contract[:19]}"
                fix = f"not {self._stamp.contract[:19]}; resume with the contract of the run"
                raise Refused("CONTRACT_CHANGED", f"ledger: {what}, {fix}")
            self._notary.replay(body)
            self._on_event(event)
            self._next += 1
            self._last_at = max(self._last_at, event.at)
        self._notary.replayed()

    def _event(self, caller: Caller, fact: Fact, position: int) -> Event:
        """The event; its time never runs back, whatever the clock does."""
        self._last_at = max(self._last_at, self._stamp.clock.now())
        return Event(
            position=position,
            id=self._stamp.ids.fresh(),
            at=self._last_at,
            contract=self._stamp.contract,
            caller=caller,
            fact=fact,
        )

    def _readable(self, body: bytes) -> Event:
        """The event as a replay will see it: state is built from the recorded bytes alone."""
        try:
            return self._codec.read(body)
        except Finding as cause:
            raise Misuse("FACT_UNREADABLE", f"this fact cannot be recorded: {cause}") from cause

    def _accept(self, events: tuple[Event, ...], bodies: tuple[bytes, ...]) -> Ticket:
        """Apply and queue: both or, since state and record would part for good, the end."""
        entry = _Entry(bodies, Ticket(events))
        accepted = False
        try:
            for event in events:
                self._on_event(event)
            self._next += len(events)
            self._enqueue(entry)
            accepted = True
        finally:
            if not accepted:
                self._die("the state did not take an event in")
        return entry.ticket

    def _enqueue(self, entry: _Entry) -> None:
        with self._changed:
            if self._failure is None:
                self._queue.append(entry)
                self._changed.notify_all()
            else:
                entry.ticket.settle(self._failure)

    def _write(self) -> None:
        while batch := self._take():
            try:
                self._commit(batch)
            except Exception as cause:  # noqa: BLE001 (thread boundary: every ticket learns it)
                self._die(str(cause), batch)
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _take(self) -> tuple[_Entry, ...]:
        """Everything queued, once something is; nothing at the end, when closing or dead."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing or self._failure)
            batch = tuple(self._queue)
            self._queue.clear()
        return batch

    def _commit(self, batch: Sequence[_Entry]) -> None:
        bodies = [body for entry in batch for body in entry.bodies]
        self._store.append(bodies)
        for body in bodies:
            self._notary.extend(body)
        with self._changed:
            self._durable += len(bodies)
            self._changed.notify_all()
        for entry in batch:
            entry.ticket.settle(None)

    def _die(self, reason: str, batch: Sequence[_Entry] = ()) -> None:
        """Fail closed: no more events, and everyone who waits learns why."""
        with self._changed:
            self._failure = self._failure or reason
            lost = (*batch, *self._queue)
            self._queue.clear()
            self._changed.notify_all()
        for entry in lost:
            entry.ticket.settle(self._failure)

    def _require_open(self) -> None:
        if self._failure is not None:
            raise _dead(self._failure)
        if self._closing:
            raise Broken("LEDGER_CLOSED", "ledger: closed; resume the run to go on")


def _dead(reason: str) -> Broken:
    return Broken("LEDGER_DEAD", f"ledger: {reason}; nothing more is recorded until a resume")
