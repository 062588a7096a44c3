"""Watching a run: a thread of its own takes the events in and shows them, so that a slow terminal
or a closed pipe never holds the ledger up."""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from types import TracebackType
from typing import Protocol, Self, TextIO

from rich.console import ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rsi_master.core.contract import Contract
from rsi_master.core.event import Event
from rsi_master.core.state import State
from rsi_master.core.text import escaped
from rsi_master.interfaces.board import Board
from rsi_master.interfaces.narrate import Line, narrate
from rsi_master.interfaces.pulse import Gauge
from rsi_master.interfaces.terminal import Painted, fit, put

REFRESH_SECONDS = 0.25
PATIENCE = 5.0
# Blank lines around the board, and one that is left to the story.
EDGES = 3


def hanging(line: Line) -> RenderableType:
    """A line of the story whose text, where it is broken, stays under its beginning."""
    found = Table.grid()
    found.add_row(Text(line.head(), no_wrap=True), Text(line.text))
    return found


class Display(Protocol):
    """Where progress is shown; used by one thread."""

    def show(self, event: Event, line: Line | None) -> None:
        """A new event, with its sentence if it deserves one."""

    def refresh(self, state: State) -> None:
        """Some time went by."""

    def close(self) -> None:
        """Nothing follows."""


class Plain:
    """One line for each notable event."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Event, line: Line | None) -> None:
        if line is not None:
            put(self._stream, fit(str(line)))

    def refresh(self, state: State) -> None:
        """Nothing moves between the lines."""

    def close(self) -> None:
        """The stream is the caller's."""


class JsonLines:
    """Every event as it is recorded, one JSON object a line; what does not show is an escape."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Event, line: Line | None) -> None:
        put(self._stream, escaped(event.to_bytes().decode()))

    def refresh(self, state: State) -> None:
        """Nothing moves between the lines."""

    def close(self) -> None:
        """The stream is the caller's."""


class Screen:
    """The story, line by line, and under it the board, kept up to date in place.

    The cursor stays visible and rests on a line of its own below the board, and nothing else of the
    terminal is changed, so that a killed owner leaves it as it should be.
    """

    def __init__(self, console: Painted, name: str, contract: Contract, gauge: Gauge) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._name = name
        self._contract = contract
        self._gauge = gauge

    def show(self, event: Event, line: Line | None) -> None:
        if line is not None:
            self._live.console.print(hanging(line))

    def refresh(self, state: State) -> None:
        console = self._live.console
        if not self._live.is_started:
            self._live.start()
            console.show_cursor(True)
        standing = "paused" if state.paused else "running"
        board = Board(self._name, self._contract, state, time.time(), self._gauge, standing)
        room = ConsoleDimensions(console.width, console.height - EDGES)
        self._live.update(Group(Text(), board.render(room), Text()), refresh=True)

    def close(self) -> None:
        try:
            if self._live.is_started:
                self._live.update(Text(), refresh=True)  # a last frame that is too high would stay
        finally:
            self._live.stop()


class Progress:
    """Follows a run from the `with` on. Events before position `start` are history: they make up
    the state and are not told again."""

    def __init__(self, display: Display, contract: Contract, start: int) -> None:
        self._display = display
        self._state = State.under(contract)
        self._start = start
        self._events: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="progress", daemon=True)

    def __call__(self, event: Event) -> None:
        self._events.put(event)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._events.put(None)
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        # Where nobody reads any more the run goes on, and its record has it all.
        with suppress(OSError), closing(self._display):
            while self._take(self._display.refresh):
                pass

    def _take(self, refresh: Callable[[State], None]) -> bool:
        """Show what came within one interval; False at the end."""
        until = time.monotonic() + REFRESH_SECONDS
        while (left := until - time.monotonic()) > 0:
            try:
                event = self._events.get(timeout=left)
            except queue.Empty:
                break
            if event is None:
                return False
            self._state.apply(event)
            if event.position >= self._start:
                self._display.show(event, narrate(event, self._state))
        refresh(self._state)
        return True
