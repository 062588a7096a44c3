"""The overview: the state of the run as Main plans with it."""

from rsi_master.core.action import Action, NodeId, Role
from rsi_master.core.contract import Contract
from rsi_master.core.experiment import BASE
from rsi_master.core.graph import Node, WorkerCreated
from rsi_master.core.model import Value
from rsi_master.core.run import ClaimScored
from rsi_master.core.score import SplitScore, present
from rsi_master.expos.catalogue import Desk, Entry, Outcome, Whole


class Sync(Action):
    """Show the state of the run as Main plans it: directions, reviews, base, claim, guidance."""

    name = "state.sync"
    effect = "read"


class DirectionView(Value):
    """A Worker in the overview."""

    node: NodeId
    direction: str
    purpose: str
    predecessors: tuple[NodeId, ...]
    recipe: str | None
    replicates: str | None
    promotion: int
    data: tuple[str, ...]
    status: str
    experiment_ids: tuple[str, ...]
    finished: int
    summary: str
    best: str | None
    best_dev: SplitScore | None


class ReviewView(Value):
    """A review in the overview. `beaten` are experiments than which another one is shown to be
    better."""

    node: NodeId
    scope: tuple[NodeId, ...]
    status: str
    recommend: tuple[str, ...]
    beaten: tuple[str, ...]
    recommendation: str


class OverviewView(Value):
    """All that Main plans with; no figure of confirm or holdout is in it."""

    target: str
    reviewer: bool
    sources: tuple[str, ...]
    recipes: tuple[str, ...]
    verifier: bool
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


def sync(_action: Sync, desk: Desk) -> Outcome:
    """The overview as the operator sees it."""
    state, form = desk.state, desk.contract.evaluator
    base = state.experiments.get(BASE)
    base_dev = base.score("dev") if base else None
    claimed = state.claimed if isinstance(state.claimed, ClaimScored) else None
    return Outcome(
        OperatorOverviewView(
            target=desk.contract.target,
            reviewer=desk.contract.research.reviewer,
            sources=desk.contract.policy.sources,
            recipes=desk.contract.policy.ways(),
            verifier=state.opened is not None and state.opened.sealed.verifier is not None,
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
                predecessors=created.predecessors,
                recipe=created.recipe,
                replicates=created.replicates,
                promotion=created.promotion,
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
            status=_standing(node),
            recommend=node.report.recommend if node.report else (),
            beaten=_beaten(node),
            recommendation=node.report.recommendation if node.report else "",
        )
        for node in desk.state.graph.reviews()
    ]


def _beaten(node: Node) -> tuple[str, ...]:
    findings = node.report.findings if node.report else ()
    return tuple(
        dict.fromkeys(f.than for f in findings if f.verdict == "supported" and f.than is not None)
    )


def _standing(node: Node) -> str:
    """A Reviewer that the OS had to end is excused: its review says nothing."""
    if node.report is None:
        return "active"
    return "excused" if node.report.by == "os" else "reported"


def for_main(record: OperatorOverviewView, _contract: Contract) -> OverviewView:
    """Without what Main must not plan by: the opened holdout."""
    return OverviewView(**{name: getattr(record, name) for name in OverviewView.model_fields})


ENTRY = Entry(Sync, sync, {Role.MAIN: for_main, Role.OPERATOR: Whole(OperatorOverviewView)})
