"""Queues between the gateway and the engine: an action waits in one while the engine works for it.

Whoever waits is let go with an error when the engine stops taking work.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Protocol, TypeVar

from rsi_master.core.errors import Broken, Misuse

PATIENCE = 300.0
"""Seconds to wait until the work begins."""


class Asked(Protocol):
    """What is asked of the engine: `worker` waits, `seconds` is what the work may take."""

    @property
    def worker(self) -> str:
        """The node that waits."""

    @property
    def seconds(self) -> float:
        """The most device seconds."""


Ask = TypeVar("Ask", bound=Asked)
Told = TypeVar("Told")


@dataclass(frozen=True)
class Waiting(Generic[Ask, Told]):
    """What was asked, and where its end is told."""

    asked: Ask
    told: Future[Told] = field(default_factory=Future)


class Queue(Generic[Ask, Told]):
    """A queue of one kind of work. Thread-safe; nobody is let in before an engine serves it.

    `noun` is what the work is called: an error's code is `<NOUN>_REFUSED`, `<NOUN>_LATE`, or
    `busy` for a second one of a Worker.
    """

    noun: ClassVar[str]
    busy: ClassVar[str]

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._waiting: deque[Waiting[Ask, Told]] = deque()
        self._asking: set[str] = set()
        self._wake: Callable[[], None] | None = None

    def ask(self, asked: Ask) -> Told:
        """Wait for the end of the work. Raises Misuse while other work of the kind is out for the
        Worker, and Broken when no engine is at work or stops before the work began."""
        waiting: Waiting[Ask, Told] = Waiting(asked)
        wake = self._enter(waiting)
        try:
            wake()
            return self._told(waiting)
        finally:
            with self._lock:
                self._asking.discard(asked.worker)

    def serve(self, wake: Callable[[], None]) -> None:
        """Let work in; `wake` is called for each."""
        with self._lock:
            self._wake = wake

    def take(self, fits: Callable[[Ask], bool] = lambda _: True) -> Waiting[Ask, Told] | None:
        """The next work that fits and that somebody still waits for; it counts as begun."""
        with self._lock:
            for waiting in list(self._waiting):
                if waiting.told.cancelled() or fits(waiting.asked):
                    self._waiting.remove(waiting)
                    if waiting.told.set_running_or_notify_cancel():
                        return waiting
        return None

    def refuse(self, why: str) -> None:
        """Let go of all who wait for work that has not begun."""
        while (waiting := self.take()) is not None:
            waiting.told.set_exception(Broken(f"{self.noun.upper()}_REFUSED", why))

    def close(self) -> None:
        """Let nobody in any more."""
        with self._lock:
            self._wake = None
        self.refuse("the owner of the run stops; ask again when it is resumed")

    def _told(self, waiting: Waiting[Ask, Told]) -> Told:
        late = f"{self.noun.upper()}_LATE"
        try:
            return waiting.told.result(self._patience)
        except TimeoutError as cause:
            if waiting.told.cancel():
                raise Broken(
                    late, f"no device was free in {self._patience:g} s; try again later"
                ) from cause
        limit = waiting.asked.seconds + self._patience
        try:
            return waiting.told.result(limit)
        except TimeoutError as cause:
            raise Broken(late, f"the {self.noun} has no end after {limit:g} s") from cause

    def _enter(self, waiting: Waiting[Ask, Told]) -> Callable[[], None]:
        worker = waiting.asked.worker
        with self._lock:
            if self._wake is None:
                raise Broken("NO_ENGINE", "nobody works on the run; `rsi resume` it, then ask")
            if worker in self._asking:
                raise Misuse(self.busy, f"a {self.noun} of {worker} is under way; wait for its end")
            self._asking.add(worker)
            self._waiting.append(waiting)
            return self._wake
