"""What is told of an error: a stable code, one line with the next step, the exit code."""

import errno
from dataclasses import dataclass

import typer

from rsi_master.core.errors import RsiError
from rsi_master.core.text import line
from rsi_master.interfaces import words

INTERRUPTED = 130
BROKEN = 7
OF_THE_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


@dataclass(frozen=True)
class Failure:
    """An error as it reaches a person or a program."""

    code: str
    message: str
    exit: int


def failure(problem: BaseException) -> Failure:
    """The failure of any exception; its commands can be typed as they stand."""
    if isinstance(problem, RsiError):
        return Failure(problem.code, _told(problem.message), problem.exit_code)
    if isinstance(problem, typer.TyperException):
        text = f"{problem.format_message()} See `rsi --help`."
        return Failure("USAGE", _told(text), 2)
    if isinstance(problem, typer.Abort | KeyboardInterrupt):
        text = "interrupted; `rsi status` says how to go on"
        return Failure("INTERRUPTED", _told(text), INTERRUPTED)
    if isinstance(problem, OSError) and problem.errno in OF_THE_DISK:
        place = f"{problem.filename}: " if problem.filename else ""
        text = f"{place}{problem.strerror}; free or repair the disk, then run this again"
        return Failure("DISK", _told(text), BROKEN)
    told = line(f"{type(problem).__name__}: {problem}")
    return Failure("UNEXPECTED", f"{told}; --debug shows the trace", BROKEN)


def _told(text: str) -> str:
    return words.pasteable(line(text))
