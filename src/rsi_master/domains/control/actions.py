"""Actions on the run itself: what its state is, what is left, and its steering."""

from typing import Annotated

from pydantic import Field

from rsi_master.core.action import Action, Amounts, NodeId, Role, Text
from rsi_master.core.contract import Contract
from rsi_master.core.experiment import BASE
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.model import Value
from rsi_master.core.run import (
    ClaimScored,
    FinishAsked,
    GuidanceGiven,
    RunPaused,
    RunUnpaused,
    StopAsked,
)
from rsi_master.core.score import SplitScore, present
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Question, Rule, Whole


class Sync(Action):
    """Show the state of the run as Main plans it: directions, reviews, base, claim, guidance."""

    name = "state.sync"
    effect = "read"


class Quota(Action):
    """Show limits, what is spent, reserved and left, and the wall clock."""

    name = "quota.read"
    effect = "read"


class Tail(Action):
    """List recorded events from a position on: type and place, without their bodies."""

    name = "events.tail"
    effect = "read"

    count: Annotated[int, Field(ge=1, le=200)] = 50


class Guide(Action):
    """Tell Main something; it reads it when it plans next."""

    name = "run.guide"
    effect = "control"

    text: Text


class Pause(Action):
    """Hold the run: no new jobs and no turns. Running jobs end."""

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


class DirectionView(Value):
    """A Worker in the overview."""

    node: NodeId
    direction: str
    purpose: str
    replicates: str | None
    data: tuple[str, ...]
    status: str
    experiment_ids: tuple[str, ...]
    finished: int
    summary: str
    best: str | None
    best_dev: SplitScore | None


class ReviewView(Value):
    """A review in the overview."""

    node: NodeId
    scope: tuple[NodeId, ...]
    status: str
    recommend: str | None
    recommendation: str


class OverviewView(Value):
    """All that Main plans with; no figure of confirm or holdout is in it."""

    target: str
    reviewer: bool
    sources: tuple[str, ...]
    base_dev: SplitScore | None
    directions: tuple[DirectionView, ...]
    reviews: tuple[ReviewView, ...]
    guidance: tuple[str, ...]
    claim: str | None
    claimed: bool


class OperatorOverviewView(OverviewView):
    """The operator also sees what the opened holdout gave."""

    champion_holdout: SplitScore | None
    base_holdout: SplitScore | None


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


def _sync(_action: Sync, desk: Desk) -> Outcome:
    state, form = desk.state, desk.contract.evaluator
    base = state.experiments.get(BASE)
    base_dev = base.score("dev") if base else None
    claimed = state.claimed if isinstance(state.claimed, ClaimScored) else None
    return Outcome(
        OperatorOverviewView(
            target=desk.contract.target,
            reviewer=desk.contract.research.reviewer,
            sources=desk.contract.policy.sources,
            base_dev=present(base_dev, form.feedback, form.feedback_step) if base_dev else None,
            directions=tuple(_directions(desk)),
            reviews=tuple(_reviews(desk)),
            guidance=tuple(given.text for given in state.guidance),
            claim=state.claim.experiment if state.claim else None,
            claimed=state.claimed is not None,
            champion_holdout=claimed.result.champion if claimed else None,
            base_holdout=claimed.result.base if claimed else None,
        )
    )


def _directions(desk: Desk) -> list[DirectionView]:
    views = []
    for node in desk.state.graph.workers():
        created = node.created
        assert isinstance(created, WorkerCreated), "workers() yields Workers"
        owned = desk.state.owned(node.id)
        best = node.finalised.best if node.finalised else None
        dev = desk.state.experiments[best].score("dev") if best else None
        form = desk.contract.evaluator
        views.append(
            DirectionView(
                node=node.id,
                direction=created.direction,
                purpose=created.purpose,
                replicates=created.replicates,
                data=created.data,
                status="active" if node.active() else "closed" if node.closed else "finalised",
                experiment_ids=tuple(e.id for e in owned),
                finished=sum(1 for e in owned if e.lifecycle == "finished"),
                summary=node.finalised.summary if node.finalised else "",
                best=best,
                best_dev=present(dev, form.feedback, form.feedback_step) if dev else None,
            )
        )
    return views


def _reviews(desk: Desk) -> list[ReviewView]:
    return [
        ReviewView(
            node=node.id,
            scope=desk.state.graph.scope(node.id),
            status="active" if node.report is None else "reported",
            recommend=node.report.recommend if node.report else None,
            recommendation=node.report.recommendation if node.report else "",
        )
        for node in desk.state.graph.reviews()
    ]


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


def _overview(record: OperatorOverviewView, _contract: Contract) -> OverviewView:
    return OverviewView(**{name: getattr(record, name) for name in OverviewView.model_fields})


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
        Entry(Sync, _sync, {Role.MAIN: _overview, Role.OPERATOR: Whole(OperatorOverviewView)}),
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
