"""Actions on programs that agents write: add, list, inspect."""

from dataclasses import dataclass
from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.artifact import AnyRow, Digest
from rsi_master.core.canonical import digest, encode
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse, RsiError
from rsi_master.core.event import Fact
from rsi_master.core.model import Value
from rsi_master.core.program import (
    SOURCE_CHARS,
    PointsTest,
    ProgramAdded,
    ProgramKind,
    ProgramText,
    RowTest,
    Test,
    Title,
)
from rsi_master.core.state import State
from rsi_master.domains.data import running, source
from rsi_master.domains.data.actions import capped
from rsi_master.domains.data.running import Answered, Unusable
from rsi_master.expos.catalogue import Desk, Entry, Outcome, Question, Rule, Whole
from rsi_master.expos.making import Made
from rsi_master.expos.standing import (
    every_open,
    verification_stays_affordable,
    wall_clock_is_left,
    walled,
    worker_is_active,
)

EVERYBODY = (Role.MAIN, Role.WORKER, Role.REVIEWER, Role.OPERATOR)
TOLD_CHARS: Final = 120
LEEWAY: Final = 1e-9
"""How far points may be from those of a test."""


class Add(Action):
    """Add a small Python program: `transform(row)` gives a row, a list of rows or None;
    `verify(prompt, answer)` and `reward(episode)` give points in 0..1, or None where they do not
    know the prompt. A training first asks each prompt with an empty answer and leaves out those of
    which they give None then; None later for one that they knew ends it. A row is a mapping of
    texts (prompt and completion; prompt alone or with answer; prompt, chosen and rejected), an
    episode one of prompt, answer and known, the right answer or None.

    It runs alone, with the standard library and nothing else: no file, network, process or thread.
    It is scanned, and must give in a sandbox what its `tests` say; only then it gets an id. A
    transform takes tests of a row and the rows `made` of it, the others of prompt, answer and
    points. One that is known already is denied. It takes device seconds, and each try is one of the
    data submissions that the contract allows.
    """

    name = "program.add"
    effect = "record"

    kind: ProgramKind
    title: Title
    source: Annotated[str, Field(min_length=1, max_length=SOURCE_CHARS)]
    tests: Annotated[tuple[Test, ...], Field(min_length=1, max_length=8)]

    @model_validator(mode="after")
    def _is_a_program(self) -> Self:
        flaw = source.flaw(self.kind, self.source)
        if flaw is not None:
            raise ValueError(flaw)
        wanted = RowTest if self.kind == "transform" else PointsTest
        fields = ", ".join(wanted.model_fields)
        for at, test in enumerate(self.tests):
            if not isinstance(test, wanted):
                raise ValueError(f"test {at} of a {self.kind} has the fields {fields}")
        return self

    def says(self) -> tuple[str, ...]:
        """What the constants of the source amount to."""
        return source.says(self.source)

    def text(self) -> ProgramText:
        """What gets the id."""
        return ProgramText(kind=self.kind, source=self.source)


class List(Action):
    """List the programs of the run."""

    name = "program.list"
    effect = "read"


class Inspect(Action):
    """Show the source of a program."""

    name = "program.inspect"
    effect = "read"

    program: Digest


class ProgramView(Value):
    """A program that may be used."""

    id: Digest
    kind: ProgramKind
    title: str
    by: str
    examples: int
    source_chars: int


class ProgramsView(Value):
    """The programs, and how many more the contract permits."""

    programs: tuple[ProgramView, ...]
    left: int


class SourceView(ProgramView):
    """A program with its text."""

    source: str


class FailedProgramView(Value):
    """There is no program; what its test used stays spent."""

    failed: str
    device_seconds: float


@dataclass(frozen=True)
class Tested:
    """How a self-test went; `added` if it was met."""

    ran: Answered
    added: ProgramAdded | None


def _test(action: Add, desk: Desk) -> Tested:
    """Run the tests in the sandbox and compare."""
    text = action.text().render()
    artifact = desk.objects.put_bytes("program", text)
    lines = b"".join(encode(_asked(test)) + b"\n" for test in action.tests)
    examples = desk.objects.put_bytes("program", lines)
    limit = reserve(action, desk.state, desk.contract).device_seconds
    order = running.order(desk, artifact.digest, examples.digest, limit)
    made = desk.making.ask(order)
    problem, added = None, None
    try:
        _compare(action, made)
        told = b"".join(encode(test.model_dump(mode="json")) + b"\n" for test in action.tests)
        added = ProgramAdded(
            artifact=artifact,
            kind=action.kind,
            title=action.title,
            source_chars=len(action.source),
            tests=desk.objects.put_bytes("program", told),
            examples=len(action.tests),
            by=desk.caller.node,
        )
    except (Unusable, RsiError) as reason:
        problem = running.reason(reason)
    return Tested(running.answered(desk, order, made, problem), added)


def _asked(test: Test) -> dict[str, object]:
    """The line that the program is given of a test."""
    if isinstance(test, RowTest):
        return test.row.model_dump(mode="json")
    return test.model_dump(mode="json", exclude={"points"})


def _compare(action: Add, made: Made) -> None:
    """Raise Unusable for the first test that is not met."""
    if action.kind == "transform":
        several = running.rows(made, len(action.tests))
        for at, (test, found) in enumerate(zip(action.tests, several, strict=True)):
            if isinstance(test, RowTest) and found != test.made:
                raise Unusable(f"test {at}: made {_told(found)}, not {_told(test.made)}")
        return
    given = running.points(made, (1,) * len(action.tests))
    for at, (test, (points,)) in enumerate(zip(action.tests, given, strict=True)):
        if isinstance(test, PointsTest) and not _equal(points, test.points):
            raise Unusable(f"test {at}: gave {points} points, not {test.points}")


def _equal(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return abs(found - wanted) <= LEEWAY


def _told(rows: tuple[AnyRow, ...]) -> str:
    text = ", ".join(str(row.model_dump()) for row in rows)
    return f"[{text[:TOLD_CHARS]}{'…' if len(text) > TOLD_CHARS else ''}]"


def _add(_action: Add, desk: Desk) -> Outcome:
    """Running and storing happened before, without the lock."""
    tested: Tested = desk.prepared
    added = () if tested.added is None else (tested.added,)
    return Outcome(tested, (*_evidence(tested), *added))


def _evidence(tested: Tested) -> tuple[Fact, ...]:
    return tested.ran.facts()


def _used(tested: Tested) -> Amounts:
    return tested.ran.used()


def reserve(action: Add, _state: State, _contract: Contract) -> Amounts:
    """What the self-test may take; it pays what it used."""
    return Amounts(device_seconds=running.seconds(len(action.tests)))


def _list(_action: List, desk: Desk) -> Outcome:
    known = desk.state.programs
    left = max(0, desk.contract.policy.programs - len(known))
    return Outcome(ProgramsView(programs=tuple(map(describe, known.values())), left=left))


def _inspect(action: Inspect, desk: Desk) -> Outcome:
    fact = desk.state.programs.get(action.program)
    if fact is None:
        raise Misuse("UNKNOWN_PROGRAM", f"{absent(action.program)}; see program.list")
    text = ProgramText.model_validate_json(desk.objects.get_bytes(action.program))
    return Outcome(SourceView(**describe(fact).model_dump(), source=text.source))


def absent(program: str) -> str:
    """That the run has no program of that id."""
    return f"program {program[:19]} is not in the run"


def describe(fact: ProgramAdded) -> ProgramView:
    """The view of one program."""
    return ProgramView(
        id=fact.artifact.digest,
        kind=fact.kind,
        title=fact.title,
        by=fact.by,
        examples=fact.examples,
        source_chars=fact.source_chars,
    )


def _added(record: Tested, _contract: Contract) -> ProgramView | FailedProgramView:
    if record.added is None:
        seconds = round(record.ran.job.seconds, 3)
        return FailedProgramView(failed=record.ran.job.problem or "", device_seconds=seconds)
    return describe(record.added)


def is_active(question: Question) -> str | None:
    """Main and the operator always are."""
    return worker_is_active(question) if question.caller.role == Role.WORKER else None


def _permitted(question: Question) -> str | None:
    most, used = question.contract.policy.programs, len(question.state.programs)
    if not most:
        return "the contract permits no programs; its key policy.programs says how many"
    return None if used < most else f"the contract permits {most} programs and all are added"


def _new(question: Question) -> str | None:
    known = question.state.programs.get(digest(question.action.text().render()))
    return f"it is program {known.artifact.digest[:19]} already" if known else None


WRITERS = dict.fromkeys((Role.MAIN, Role.WORKER, Role.OPERATOR), _added)
ENTRIES = (
    Entry(List, _list, dict.fromkeys(EVERYBODY, Whole(ProgramsView))),
    Entry(Inspect, _inspect, dict.fromkeys(EVERYBODY, Whole(SourceView))),
    Entry(Add, _add, WRITERS, reserve, _test, _used, _evidence),
)
RULES = (
    Rule("programs", Add, _permitted),
    Rule("walls", Add, walled),
    Rule("active", Add, is_active),
    Rule("clock", Add, wall_clock_is_left),
    Rule("known", Add, _new),
    Rule("submissions", Add, capped),
    Rule("verification", Add, verification_stays_affordable(reserve, every_open)),
)
