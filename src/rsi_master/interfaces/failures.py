"""What is told of an error: a stable code, one line with the next step, the exit code."""

from dataclasses import dataclass

import typer

from rsi_master.core.errors import RsiError
from rsi_master.interfaces import words

INTERRUPTED = 130
BROKEN = 7


@dataclass(frozen=True)
class Failure:
    """An error as it reaches a person or a program."""

    code: str
    message: str
    exit: int


def failure(problem: BaseException) -> Failure:
    """The failure of any exception; its commands can be typed as they stand."""
    if isinstance(problem, RsiError):
        return Failure(problem.code, words.pasteable(problem.message), problem.exit_code)
    if isinstance(problem, typer.TyperException):
        text = f"{problem.format_message()} See `rsi --help`."
        return Failure("USAGE", words.pasteable(text), 2)
    if isinstance(problem, typer.Abort | KeyboardInterrupt):
        text = "interrupted; `rsi status` says how to go on"
        return Failure("INTERRUPTED", words.pasteable(text), INTERRUPTED)
    told = " ".join(f"{type(problem).__name__}: {problem}".split())
    return Failure("UNEXPECTED", f"{told}; --debug shows the trace", BROKEN)
