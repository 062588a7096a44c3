"""A program of an agent that judges for a training: asked over a line to a process of its own.

It never runs in the trainer's interpreter, which it could change. Its answers are a claim: numbers
in 0..1, or none; anything else, or silence, ends the training. Its own words go nowhere, since the
reason of a failed training is read by roles that did not write the program.
"""

import builtins
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from rsi_master.core.artifact import Problem, Prompt
from rsi_master.core.canonical import encode
from rsi_master.core.model import Value
from rsi_master.core.program import SOURCE_CHARS, Score
from rsi_master.core.warm import JUDGE_DESCRIPTOR
from rsi_master.programs.jobs.result import Untrainable
from rsi_master.programs.jobs.verifier import Verifier

SECONDS: Final = 20.0
"""How long one answer may take, the start of the judge included."""
LINE_BYTES: Final = 16 << 10


class _Failed(Value):
    """An error of the program."""

    row: int | None
    line: Annotated[int, Field(ge=1, le=SOURCE_CHARS)] | None
    error: str


class _Reply(Value):
    """Points of the one answer that was asked about, or why there are none."""

    points: Annotated[
        tuple[Annotated[Score, Field(strict=True)] | None, ...], Field(max_length=1)
    ] = ()
    failure: _Failed | None = None


def load(prompts: Sequence[Prompt], descriptor: int = JUDGE_DESCRIPTOR) -> Verifier:
    """The judge of this job as a verifier; a reward is told the known answer of each prompt that
    bears one. A prompt that it gave points for once is one that it knows: None for it later ends
    the training."""
    line = _Line(socket.socket(fileno=descriptor))
    known = {row.prompt: row.answer for row in prompts if isinstance(row, Problem)}
    judged: set[str] = set()

    def verify(prompt: str, answer: str) -> float | None:
        episode = {"prompt": prompt, "answer": answer, "known": known.get(prompt)}
        points = _points(line.ask(episode))
        if points is not None:
            judged.add(prompt)
        elif prompt in judged:
            raise Untrainable("PROGRAM_FAILED", "the program gives no points for a prompt it knew")
        return points

    return verify


class _Line:
    """One question at a time, one line for each."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link

    def ask(self, episode: Mapping[str, Any]) -> bytes:
        """The line that answers; raises Untrainable without one."""
        limit = time.monotonic() + SECONDS
        answer = b""
        try:
            self._wait(limit)
            self._link.sendall(encode(dict(episode)) + b"\n")
            while not answer.endswith(b"\n") and len(answer) <= LINE_BYTES:
                self._wait(limit)
                more = self._link.recv(LINE_BYTES)
                if not more:
                    raise Untrainable("PROGRAM_FAILED", "the program ended its process")
                answer += more
        except TimeoutError as cause:
            told = f"the program took over {SECONDS:g} s for an answer"
            raise Untrainable("PROGRAM_FAILED", told) from cause
        except OSError as cause:
            raise Untrainable("PROGRAM_FAILED", "the program ended its process") from cause
        return answer

    def _wait(self, limit: float) -> None:
        """At most until then, for the next call."""
        self._link.settimeout(max(0.001, limit - time.monotonic()))


def _points(line: bytes) -> float | None:
    try:
        reply = _Reply.model_validate_json(line)
    except ValidationError as cause:
        raise Untrainable("PROGRAM_FAILED", "the program gives no points in 0..1") from cause
    if reply.failure is not None:
        raise Untrainable("PROGRAM_FAILED", f"the program fails{_place(reply.failure)}")
    if len(reply.points) != 1:
        raise Untrainable("PROGRAM_FAILED", "the program gives no points in 0..1")
    return reply.points[0]


def _place(failure: _Failed) -> str:
    """Line and kind of an error, which are no words of the program: kinds that Python brings."""
    line = "" if failure.line is None else f" at line {failure.line}"
    kind = failure.error.partition(":")[0]
    found = getattr(builtins, kind, None)
    named = isinstance(found, type) and issubclass(found, BaseException)
    return f"{line} with {kind}" if named else line
