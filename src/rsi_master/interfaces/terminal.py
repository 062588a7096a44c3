"""The way out: all that a command says leaves through here, and nothing else writes to a terminal.

What agents, models and files brought makes no terminal do anything: control characters and what
turns text around are shown as blanks, in JSON as escapes. The colours of our own drawings stay.
"""

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from rsi_master.core.errors import RsiError
from rsi_master.core.text import escaped, visible

WIDE: Final = 400
_STREAMS: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


class Unread(RsiError):
    """Whoever read standard output went away, as `head` does. Nothing is wrong, and nothing more
    can be told."""

    exit_code = 141


class Painted(Console):
    """A console whose texts hold no letter that a terminal obeys; its own codes it does write.

    Texts are no markup. A letter without width becomes a blank: who counts columns makes the text
    `visible` beforehand.
    """

    def __init__(
        self,
        file: TextIO | None = None,
        width: int | None = None,
        height: int | None = None,
        force_terminal: bool | None = None,
    ) -> None:
        super().__init__(
            file=file,
            width=width,
            height=height,
            force_terminal=force_terminal,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for part in super().render(renderable, options):
            yield part if part.control else Segment(fit(part.text), part.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def fit(text: str) -> str:
    """The text with its lines, letter by letter what a terminal shows and does not obey."""
    return "\n".join(map(visible, text.split("\n")))


def tell(text: str) -> None:
    """Text for people. Raises Unread, and OSError where it cannot be written."""
    with _read():
        put(sys.stdout, fit(text))


def answer(text: str) -> None:
    """JSON for programs: the same value, safe to look at. Raises as `tell` does."""
    with _read():
        put(sys.stdout, escaped(text))


def show(*parts: RenderableType) -> None:
    """Drawings, as wide as the terminal; elsewhere lines are not broken. Raises as `tell` does."""
    with _read():
        console = Painted(width=None if sys.stdout.isatty() else WIDE)
        for part in parts:
            console.print(part)


def note(text: str = "") -> None:
    """What is said beside the output, on standard error, whether or not it can be read there."""
    with suppress(OSError):
        put(sys.stderr, fit(text))


def put(stream: TextIO, text: str) -> None:
    """Lines that are fit already, at once."""
    stream.write(f"{text}\n")
    stream.flush()


def prepare() -> None:
    """Make the standard streams ones that can be used; before anything else is opened.

    A closed one leads nowhere: else the next file to be opened took its place, and what is printed
    went into that. A letter that a terminal lacks is no failure.
    """
    for name, mode in _STREAMS:
        if getattr(sys, name) is None:
            nowhere = os.fdopen(os.open(os.devnull, os.O_RDWR), mode)
            os.set_inheritable(nowhere.fileno(), True)
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def settle() -> None:
    """Drop what could not be written, so that the interpreter does not fail on it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _silence(stream)


@contextmanager
def _read() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as cause:
        raise Unread("UNREAD", "nobody reads standard output any more") from cause
    except OSError as cause:
        cause.filename = cause.filename or "standard output"
        raise


def _silence(stream: TextIO) -> None:
    """Lead the stream nowhere; one without a descriptor has nobody to disturb."""
    with suppress(OSError, ValueError):
        place = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, place)
        os.close(nowhere)
