"""What became of rows that an action made, perhaps by a program: record, facts and views."""

from dataclasses import dataclass

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.budget import ZERO
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Fact
from rsi_master.core.model import Value
from rsi_master.core.program import ProgramKind
from rsi_master.domains.data.actions import (
    DatasetView,
    OperatorDatasetView,
    RefusedView,
    registered,
    registered_exactly,
)
from rsi_master.domains.data.programs import absent
from rsi_master.domains.data.running import Answered
from rsi_master.expos.catalogue import Desk, Outcome, Question
from rsi_master.expos.screen import HITS


class FailedRunView(Value):
    """There is no data; what the program used stays spent."""

    failed: str
    device_seconds: float


@dataclass(frozen=True)
class Made:
    """The dataset, or that the scan left none, or nothing where the program failed; and how that
    went, where there was one."""

    data: DatasetRegistered | DatasetRefused | None
    ran: Answered | None = None


def record(_action: Action, desk: Desk) -> Outcome:
    """Making, scanning and storing happened before, without the lock."""
    found: Made = desk.prepared
    return Outcome(found, (*evidence(found), *(() if found.data is None else (found.data,))))


def evidence(found: Made) -> tuple[Fact, ...]:
    """What tells of the program's job."""
    return found.ran.facts() if found.ran else ()


def used(found: Made) -> Amounts:
    """What the program took."""
    return found.ran.used() if found.ran else ZERO


def program_is(question: Question, program: str, kind: ProgramKind) -> str | None:
    """Why a program may not be used as one of that kind."""
    known = question.state.programs.get(program)
    if known is None:
        return f"{absent(program)}; see program.list"
    if known.kind == kind:
        return None
    return f"program {program[:19]} is a {known.kind}, and a {kind} is needed"


def may_be_told(question: Question) -> str | None:
    """A node that repeated sealed items too often has nothing more scanned that a program makes,
    nor what it says when it fails."""
    if question.state.screened.get(question.caller.node, 0) < HITS:
        return None
    return f"this node repeated sealed items {HITS} times and has no more rows made by programs"


def _view(found: Made, contract: Contract) -> DatasetView | RefusedView | FailedRunView:
    if found.data is None:
        return _failed(found)
    return _caught(found) or registered(found.data, contract)


def _exact_view(
    found: Made, contract: Contract
) -> OperatorDatasetView | RefusedView | FailedRunView:
    if found.data is None:
        return _failed(found)
    return _caught(found) or registered_exactly(found.data, contract)


def _caught(found: Made) -> RefusedView | None:
    """The one answer to rows that repeat a sealed item, however many do."""
    if found.ran is None or not found.ran.hits:
        return None
    told = "what the program made repeats a sealed item, so none of it is taken"
    return RefusedView(refused=told, dropped="many")


def _failed(found: Made) -> FailedRunView:
    assert found.ran is not None, "only a program fails to make data"
    job = found.ran.job
    return FailedRunView(failed=job.problem or "", device_seconds=round(job.seconds, 3))


WRITERS = {Role.MAIN: _view, Role.WORKER: _view, Role.OPERATOR: _exact_view}
