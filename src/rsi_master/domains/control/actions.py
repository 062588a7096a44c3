"""Actions on the run itself: what its state is, what is left, and its steering."""

from typing import Annotated

from pydantic import Field

from rsi_master.core.action import Action, Amounts, NodeId, Role, Text
from rsi_master.core.model import Value
from rsi_master.core.run import (
    FinishAsked,
    GuidanceGiven,
    RunPaused,
    RunUnpaused,
    StopAsked,
)
from rsi_master.domains.control import overview
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Question, Rule, Whole


class Quota(Action):
    """Show limits, what is spent, reserved and left, and the wall clock."""

    name = "quota.read"
    effect = "read"


class Tail(Action):
    """List the last recorded events: position, type and node, without their bodies."""

    name = "events.tail"
    effect = "read"

    count: Annotated[int, Field(ge=1, le=200)] = 50


class Guide(Action):
    """Tell Main something. It stands in the record and in what Main reads of the state; the offline
    playbook does not act on it."""

    name = "run.guide"
    effect = "control"

    text: Text


class Pause(Action):
    """Hold the run: no new jobs, no turns, and the wall clock stands still. Running jobs go on to
    their end."""

    name = "run.pause"
    effect = "control"

    reason: Text


class Resume(Action):
    """Let a paused run go on."""

    name = "run.resume"
    effect = "control"


class Finish(Action):
    """Declare the research done."""

    name = "run.finish"
    effect = "control"

    reason: Text


class Stop(Action):
    """Stop the run for good: unfinished experiments are cancelled."""

    name = "run.stop"
    effect = "control"

    reason: Text


class QuotaView(Value):
    """The books."""

    limit: Amounts
    spent: Amounts
    reserved: Amounts
    left: Amounts
    wall_seconds: float
    wall_limit: float


class EventView(Value):
    """One event without its body."""

    position: int
    type: str
    node: NodeId


class EventsView(Value):
    """The last events, oldest first."""

    upto: int
    events: tuple[EventView, ...]


class RecordedView(Value):
    """The request is recorded."""

    recorded: str


def _quota(_action: Quota, desk: Desk) -> Outcome:
    books = desk.state.books
    return Outcome(
        QuotaView(
            limit=books.limit,
            spent=books.spent,
            reserved=books.reserved(),
            left=books.left(),
            wall_seconds=round(desk.state.wall(desk.now), 3),
            wall_limit=desk.contract.budget.wall_seconds,
        )
    )


def _tail(action: Tail, desk: Desk) -> Outcome:
    events = tuple(
        EventView(position=e.position, type=e.fact.type, node=e.caller.node)
        for e in desk.recent(action.count)
    )
    return Outcome(EventsView(upto=desk.state.position, events=events))


def _guide(action: Guide, desk: Desk) -> Outcome:
    return _recorded("guidance", GuidanceGiven(text=action.text))


def _pause(action: Pause, desk: Desk) -> Outcome:
    return _recorded("pause", RunPaused(reason=action.reason))


def _resume(_action: Resume, desk: Desk) -> Outcome:
    return _recorded("resume", RunUnpaused())


def _finish(action: Finish, desk: Desk) -> Outcome:
    return _recorded("finish", FinishAsked(reason=action.reason))


def _stop(action: Stop, desk: Desk) -> Outcome:
    return _recorded("stop", StopAsked(reason=action.reason))


def _recorded(
    word: str, fact: GuidanceGiven | RunPaused | RunUnpaused | FinishAsked | StopAsked
) -> Outcome:
    return Outcome(RecordedView(recorded=word), (fact,))


def _nothing_runs(question: Question) -> str | None:
    state = question.state
    active = [node.id for node in state.graph.nodes.values() if node.active()]
    if active:
        return f"{', '.join(active)} still work; wait until they finalise or report"
    if state.claim is not None and state.claimed is None:
        return "the claim is being scored"
    return None


def _is_paused(question: Question) -> str | None:
    return None if question.state.paused else "the run is not paused"


def _is_not_paused(question: Question) -> str | None:
    return "the run is paused already" if question.state.paused else None


EVERYBODY = (Role.MAIN, Role.WORKER, Role.REVIEWER, Role.OPERATOR)
PLANNERS = (Role.MAIN, Role.OPERATOR)
RECORDED = Whole(RecordedView)
STEERED = {Role.OPERATOR: RECORDED}

DOMAIN = Domain(
    "control",
    (
        overview.ENTRY,
        Entry(Quota, _quota, dict.fromkeys(EVERYBODY, Whole(QuotaView))),
        Entry(Tail, _tail, dict.fromkeys(PLANNERS, Whole(EventsView))),
        Entry(Guide, _guide, STEERED),
        Entry(Pause, _pause, STEERED),
        Entry(Resume, _resume, STEERED),
        Entry(Finish, _finish, {Role.MAIN: RECORDED}),
        Entry(Stop, _stop, STEERED),
    ),
    (
        Rule("busy", Finish, _nothing_runs),
        Rule("paused", Resume, _is_paused),
        Rule("paused", Pause, _is_not_paused),
    ),
)
