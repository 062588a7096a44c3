"""Jobs of agents' programs: what they are told, and what of their output is taken.

Program and runner share a process, so its output is a claim: lines of closed types, bounded in
length and number, one for each row that it was asked about. Rows are scanned by whoever registers
them; points lie in 0..1; a failure is text for the one who asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, TypeVar

from pydantic import Field, ValidationError

from rsi_master.core.action import Amounts
from rsi_master.core.artifact import AnyRow, Digest
from rsi_master.core.errors import RsiError
from rsi_master.core.event import Fact
from rsi_master.core.job import Input, Job, Program, Resources
from rsi_master.core.making import MakingEnded
from rsi_master.core.model import Value
from rsi_master.core.program import JOB, SOURCE_CHARS, Score
from rsi_master.core.run import REPEATS, SCREENED, ActionDenied
from rsi_master.core.sealed import Points
from rsi_master.core.sealed_wire import FRAME_LIMIT
from rsi_master.core.text import clean
from rsi_master.expos.catalogue import Desk
from rsi_master.expos.making import Made, Order, ended, job_name
from rsi_master.expos.screen import Screen

NAME: Final = JOB
PROGRAM: Final = Program(
    entry="rsi_master.programs.code.runner:run", job_class="code", runtime="core"
)
PROGRAMS: Final = {NAME: PROGRAM}
"""What jobs of agents' code run, by the name in their orders."""
MEMORY_MIB: Final = 512
START_SECONDS: Final = 10.0
SECONDS_PER_ROW: Final = 0.005
RESULT_BYTES: Final = 100_000
LINE_BYTES: Final = 1 << 20
ROWS: Final = 200_000
"""The most rows that one job may make: each costs the owner memory before it is scanned."""

Place = Annotated[int, Field(ge=0, lt=10**9)]
"""Of a row: a number that fits a line of words."""
Line = TypeVar("Line", "MadeRows", "MadePoints")


class MadeRows(Value):
    """What a transform made of the row at that position."""

    row: Place
    made: tuple[AnyRow, ...]


class MadePoints(Value):
    """The points of the answers of the row at that position."""

    row: Place
    points: Annotated[tuple[Annotated[Score, Field(strict=True)] | None, ...], Field(max_length=2)]


class Failure(Value):
    """An error of the program, at a line of its source and over a row, where these are known."""

    row: Place | None
    line: Annotated[int, Field(ge=1, le=SOURCE_CHARS)] | None
    error: Annotated[str, Field(max_length=300)]

    def told(self) -> str:
        """In words; rows count from 0, as in `data.inspect`."""
        row = "" if self.row is None else f"row {self.row}, "
        line = "" if self.line is None else f"line {self.line}, "
        return f"{row}{line}{clean(self.error) or 'an error without words'}"


class Result(Value):
    """How many rows were done, and the first errors."""

    done: int
    failures: Annotated[tuple[Failure, ...], Field(max_length=3)]


class Unusable(Exception):
    """Nothing came of the job, for this reason."""


@dataclass(frozen=True)
class Answered:
    """The job of a program has ended. `hits` counts that its words, or a row that it made, repeat a
    sealed item."""

    job: MakingEnded
    hits: tuple[ActionDenied, ...] = ()

    def facts(self) -> tuple[Fact, ...]:
        """What tells of it, whatever becomes of what it made."""
        return (self.job, *self.hits)

    def used(self) -> Amounts:
        """Device seconds."""
        return Amounts(device_seconds=self.job.seconds)


def seconds(rows: int) -> float:
    """The device seconds that a program may take over so many rows."""
    return START_SECONDS + SECONDS_PER_ROW * rows


def order(desk: Desk, program: Digest, rows: Digest, limit: float) -> Order:
    """The job of a program over rows, one JSON object a line."""
    job = Job(
        name=job_name(desk.intent),
        job_class="code",
        runtime=PROGRAM.runtime,
        program=NAME,
        config={},
        inputs=(
            Input(name="program.json", digest=program),
            Input(name="input.jsonl", digest=rows),
        ),
        # It beats nowhere: its only limit is that of its time.
        resources=Resources(seconds=limit, stall_seconds=limit, memory_mib=MEMORY_MIB),
    )
    return Order(desk.caller.node, job, {"made.jsonl": FRAME_LIMIT, "result.json": RESULT_BYTES})


def answered(desk: Desk, asked: Order, made: Made, problem: str | None) -> Answered:
    """The facts of a job that has ended. What a program prints is not kept: it may be rows that
    no scan has seen. A reason that repeats a sealed item is withheld, and counted like a text."""
    silent = replace(made, log=b"")
    held = False
    try:
        held = problem is not None and Screen(desk.sealed).holds(problem)
    except RsiError:
        problem = "the sealed process gave no answer, so nothing was made; ask again"
    if held:
        problem = "the program failed, with words that repeat a sealed item"
    job = ended(desk.intent, asked, silent, problem, desk.objects)
    return Answered(job, (_hit(desk, problem),) if held and problem else ())


def caught(desk: Desk, ran: Answered) -> Answered:
    """The same, where a row that the program made repeats a sealed item: counted like a text."""
    return replace(ran, hits=(_hit(desk, "the program made a row that repeats a sealed item"),))


def _hit(desk: Desk, told: str) -> ActionDenied:
    return ActionDenied(
        action=desk.state.intents[desk.intent].action,
        arguments=REPEATS,
        decision="deny",
        rule=SCREENED,
        reason=told,
    )


def rows(made: Made, count: int) -> tuple[tuple[AnyRow, ...], ...]:
    """What a transform made of each of `count` rows; raises Unusable."""
    found, total = [], 0
    for line in _lines(made, MadeRows, count):
        total += len(line.made)
        if total > ROWS:
            raise Unusable(f"row {line.row}: over {ROWS:,} rows are made; make fewer of each")
        found.append(line.made)
    return tuple(found)


def points(made: Made, answers: Sequence[int]) -> tuple[Points, ...]:
    """The points of each row's answers, of which there are so many; raises Unusable."""
    found = tuple(line.points for line in _lines(made, MadePoints, len(answers)))
    for at, (wanted, given) in enumerate(zip(answers, found, strict=True)):
        if len(given) != wanted:
            raise Unusable(f"row {at}: {len(given)} points for {wanted} answers")
    return found


def _lines(made: Made, kind: type[Line], count: int) -> Iterator[Line]:
    """The lines of a job that ended well, one for each row in order."""
    if made.problem is not None:
        raise Unusable(made.problem)
    try:
        result = Result.model_validate_json(made.files["result.json"])
    except ValidationError as cause:
        raise Unusable("the program ended its process before its work was done") from cause
    if result.failures:
        raise Unusable("; ".join(failure.told() for failure in result.failures))
    lines = made.files["made.jsonl"].splitlines()
    if len(lines) != count or result.done != count:
        raise Unusable(f"{len(lines)} lines are left for {count} rows")
    for at, line in enumerate(lines):
        yield _line(line, kind, at)


def _line(line: bytes, kind: type[Line], at: int) -> Line:
    if len(line) > LINE_BYTES:
        raise Unusable(f"row {at}: over {LINE_BYTES:,} bytes are made of it")
    try:
        found = kind.model_validate_json(line)
    except ValidationError as cause:
        problem = cause.errors(include_url=False, include_input=False)[0]
        raise Unusable(f"row {at}: its line is none of a program: {problem['msg']}") from cause
    if found.row != at:
        raise Unusable(f"row {at}: the line there is that of row {found.row}")
    return found


def reason(problem: Unusable | RsiError) -> str:
    """Why nothing came of a job, in one line."""
    return problem.message if isinstance(problem, RsiError) else str(problem)
