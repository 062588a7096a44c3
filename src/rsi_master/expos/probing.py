"""The queue of probes between the gateway and the engine: who asks waits here for the answers.

Whoever waits is let go with an error when the engine stops taking work.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from rsi_master.core.errors import Broken, Misuse, RsiError
from rsi_master.core.probe import ProbeResult, Window

PATIENCE = 300.0
"""Seconds to wait until a probe begins."""


@dataclass(frozen=True)
class Probe:
    """A checkpoint by the digest of its artifact, the questions, and the device seconds that they
    may take; `name` is unique, `worker` waits."""

    name: str
    worker: str
    checkpoint: str
    window: Window
    seconds: float


@dataclass(frozen=True)
class Probed:
    """The device seconds that were used, and the answers or why there are none."""

    seconds: float
    result: ProbeResult | RsiError


@dataclass(frozen=True)
class Waiting:
    """A probe that was asked for, and where its end is told."""

    probe: Probe
    told: Future[Probed] = field(default_factory=Future)


class Probing:
    """The queue of probes. Thread-safe; nobody is let in before an engine serves it."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._lock = threading.Lock()
        self._waiting: deque[Waiting] = deque()
        self._asking: set[str] = set()
        self._wake: Callable[[], None] | None = None

    def ask(self, probe: Probe) -> Probed:
        """Wait for the end of a probe. Raises Misuse while another one of the Worker is out, and
        Broken when no engine is at work or stops before the probe began."""
        waiting = Waiting(probe)
        wake = self._enter(waiting)
        try:
            wake()
            return self._told(waiting)
        finally:
            with self._lock:
                self._asking.discard(probe.worker)

    def serve(self, wake: Callable[[], None]) -> None:
        """Let probes in; `wake` is called for each."""
        with self._lock:
            self._wake = wake

    def take(self) -> Waiting | None:
        """The next probe that somebody still waits for; it counts as begun."""
        with self._lock:
            while self._waiting:
                waiting = self._waiting.popleft()
                if waiting.told.set_running_or_notify_cancel():
                    return waiting
        return None

    def refuse(self, why: str) -> None:
        """Let go of all who wait for a probe that has not begun."""
        while (waiting := self.take()) is not None:
            waiting.told.set_exception(Broken("PROBE_REFUSED", why))

    def close(self) -> None:
        """Let nobody in any more."""
        with self._lock:
            self._wake = None
        self.refuse("the owner of the run stops; probe again when it is resumed")

    def _told(self, waiting: Waiting) -> Probed:
        try:
            return waiting.told.result(self._patience)
        except TimeoutError as cause:
            if waiting.told.cancel():
                raise Broken(
                    "PROBE_LATE", f"no device was free in {self._patience:g} s; try again later"
                ) from cause
        return waiting.told.result(waiting.probe.seconds + self._patience)

    def _enter(self, waiting: Waiting) -> Callable[[], None]:
        worker = waiting.probe.worker
        with self._lock:
            if self._wake is None:
                raise Broken("NO_ENGINE", "nobody works on the run; `rsi resume` it, then probe")
            if worker in self._asking:
                raise Misuse("PROBING", f"a probe of {worker} is under way; wait for its answers")
            self._asking.add(worker)
            self._waiting.append(waiting)
            return self._wake
