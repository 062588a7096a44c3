"""Actions on Workers: Main creates and inspects them, a Worker reads its task and finalises."""

from typing import Annotated

from pydantic import Field

from rsi_master.core.action import Action, Line, NodeId, Role, Text
from rsi_master.core.artifact import Digest
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.experiment import BASE, Purpose
from rsi_master.core.graph import Node, WorkerCreated, WorkerFinalised
from rsi_master.core.lineage import ancestors
from rsi_master.core.model import Value
from rsi_master.core.score import SplitScore, present
from rsi_master.domains.planning import rules
from rsi_master.expos.catalogue import Desk, Entry, Outcome, Rule, Whole
from rsi_master.expos.lineage import selectable
from rsi_master.expos.standing import worker_is_active


class Create(Action):
    """Open a direction: a Worker with a hypothesis, a task, predecessors whose experiments it may
    read and continue, and a number of experiments. `recipe` names the way to train that the
    direction is about; without it the Worker chooses. A verification replicates one experiment with
    its whole lineage under a fresh seed, of which `promotion` is the number, from 0 on; it gets as
    many experiments as that takes beyond what its predecessors trained under that seed."""

    name = "worker.create"
    effect = "record"

    direction: Line
    hypothesis: Text
    task: Text
    purpose: Purpose = "explore"
    predecessors: Annotated[tuple[NodeId, ...], Field(max_length=20)] = ()
    data: Annotated[tuple[Digest, ...], Field(max_length=20)] = ()
    recipe: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    replicates: str | None = None
    promotion: Annotated[int, Field(ge=0, le=19)] = 0
    experiments: Annotated[int, Field(ge=1, le=1000)] = 1


class Current(Action):
    """Show the own task, experiments, and what predecessors left."""

    name = "worker.current"
    effect = "read"


class Inspect(Action):
    """Show a Worker: its direction, its experiments in short, its summary."""

    name = "worker.inspect"
    effect = "read"

    node: NodeId


class Finalize(Action):
    """End the own work with a summary that cites own experiments, and name the best of them."""

    name = "worker.finalize"
    effect = "record"

    summary: Text
    cites: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    best: str | None = None


class WorkerRef(Value):
    """The Worker node that was created."""

    node: NodeId


class Training(Value):
    """A training or merge that a verification repeats: what it continued, first θ_in, and its data,
    all by the ids of the original. `again` is its repetition under the same fresh seed by a
    designated predecessor, which need not be trained once more."""

    experiment: str
    recipe: dict[str, object]
    parents: tuple[str, ...]
    data: tuple[Digest, ...]
    again: str | None = None


class Predecessor(Value):
    """What a finalised Worker left to its heirs: its summary, and the best of its experiments."""

    node: NodeId
    direction: str
    summary: str
    best: str | None
    experiments: tuple[str, ...]


class Assignment(Value):
    """What a Worker works on. `lineage` is what a verification trains again, in order; `practice`
    counts the open questions that it may probe checkpoints with, `probes` times more."""

    node: NodeId
    direction: str
    hypothesis: str
    task: str
    purpose: Purpose
    predecessors: tuple[Predecessor, ...]
    data: tuple[Digest, ...]
    recipe: str | None
    replicates: str | None
    lineage: tuple[Training, ...]
    experiments: tuple[str, ...]
    running: int
    left: int
    practice: int
    probes: int
    base_parameters: int | None
    base_dev: SplitScore | None


class WorkerView(Value):
    """A Worker as Main sees it."""

    node: NodeId
    direction: str
    hypothesis: str
    purpose: Purpose
    replicates: str | None
    status: str
    experiments: tuple[str, ...]
    left: int
    summary: str
    best: str | None


class FinalisedView(Value):
    """The end is recorded."""

    node: NodeId
    best: str | None


def _create(action: Create, desk: Desk) -> Outcome:
    number = len(desk.state.graph.workers()) + 1
    lacking = [one for one in _lineage(desk, action) if one.again is None]
    fact = WorkerCreated(
        node=f"w{number}",
        direction=action.direction,
        hypothesis=action.hypothesis,
        task=action.task,
        purpose=action.purpose,
        predecessors=tuple(dict.fromkeys(action.predecessors)),
        data=action.data,
        recipe=action.recipe,
        replicates=action.replicates,
        promotion=action.promotion,
        experiments=len(lacking) or action.experiments,
    )
    return Outcome(fact, (fact,))


def _current(_action: Current, desk: Desk) -> Outcome:
    state = desk.state
    node, created = _worker(desk, desk.caller.node)
    owned = state.owned(node.id)
    base = state.experiments.get(BASE)
    dev = base.score("dev") if base else None
    form = desk.contract.evaluator
    return Outcome(
        Assignment(
            node=node.id,
            direction=created.direction,
            hypothesis=created.hypothesis,
            task=created.task,
            purpose=created.purpose,
            predecessors=tuple(_predecessor(desk, name) for name in created.predecessors),
            data=created.data,
            recipe=created.recipe,
            replicates=created.replicates,
            lineage=_lineage(desk, created),
            experiments=tuple(e.id for e in owned),
            running=sum(1 for e in owned if e.ended is None),
            left=_left(desk, node, created),
            practice=state.opened.sealed.practice if state.opened else 0,
            probes=state.probes_left(node.id, desk.contract.research.probes_per_worker),
            base_parameters=state.opened.parameters if state.opened else None,
            base_dev=present(dev, form.feedback, form.feedback_step) if dev else None,
        )
    )


def _predecessor(desk: Desk, name: str) -> Predecessor:
    node, created = _worker(desk, name)
    return Predecessor(
        node=node.id,
        direction=created.direction,
        summary=node.finalised.summary if node.finalised else "",
        best=node.finalised.best if node.finalised else None,
        experiments=tuple(e.id for e in desk.state.owned(node.id)),
    )


def _lineage(desk: Desk, task: Create | WorkerCreated) -> tuple[Training, ...]:
    """What a verification repeats, from the first training on the base to the experiment itself;
    nothing for an exploration."""
    state, name = desk.state, task.replicates
    if name is None:
        return ()
    order = reversed((name, *ancestors(state, name)))
    found = [known.queued for one in order if (known := state.experiments.get(one)) is not None]
    again = _repeated(desk, task)
    return tuple(
        Training(
            experiment=queued.experiment,
            recipe=queued.recipe,
            parents=queued.parents(),
            data=queued.data,
            again=again.get(queued.effective) if queued.experiment != name else None,
        )
        for queued in found
        if queued is not None
    )


def _repeated(desk: Desk, task: Create | WorkerCreated) -> dict[str, str]:
    """What the predecessors of a verification trained under its fresh seed, by effective recipe."""
    seed = desk.contract.policy.promotion_seeds()[task.promotion]
    return {
        experiment.queued.effective: experiment.id
        for node in task.predecessors
        for experiment in desk.state.owned(node)
        if experiment.queued and experiment.queued.purpose == "verify"
        if experiment.queued.seed == seed and selectable(desk.state, experiment)
    }


def _inspect(action: Inspect, desk: Desk) -> Outcome:
    node, created = _worker(desk, action.node)
    return Outcome(view(desk, node, created))


def view(desk: Desk, node: Node, created: WorkerCreated) -> WorkerView:
    """A Worker in short."""
    return WorkerView(
        node=node.id,
        direction=created.direction,
        hypothesis=created.hypothesis,
        purpose=created.purpose,
        replicates=created.replicates,
        status="active" if node.active() else "closed" if node.closed else "finalised",
        experiments=tuple(e.id for e in desk.state.owned(node.id)),
        left=_left(desk, node, created),
        summary=node.finalised.summary if node.finalised else "",
        best=node.finalised.best if node.finalised else None,
    )


def _finalize(action: Finalize, desk: Desk) -> Outcome:
    node, _ = _worker(desk, desk.caller.node)
    own = {experiment.id for experiment in desk.state.owned(node.id)}
    for name in (*action.cites, *((action.best,) if action.best else ())):
        if name not in own:
            raise Misuse("NOT_OWN", f"{name} is no experiment of {node.id}; cite own ones")
    fact = WorkerFinalised(
        node=node.id,
        summary=action.summary,
        cites=action.cites,
        best=action.best,
        by=desk.caller.node,
    )
    return Outcome(fact, (fact,))


def _left(desk: Desk, node: Node, created: WorkerCreated) -> int:
    used = sum(
        1 for e in desk.state.owned(node.id) if e.ended is None or e.ended.spent.experiments > 0
    )
    return max(0, created.experiments - used)


def _worker(desk: Desk, name: str) -> tuple[Node, WorkerCreated]:
    node = desk.state.graph.nodes.get(name)
    if node is None or not isinstance(node.created, WorkerCreated):
        raise Misuse("UNKNOWN_WORKER", f"no Worker {name!r} in this run")
    return node, node.created


def _ref(record: WorkerCreated, _contract: Contract) -> WorkerRef:
    return WorkerRef(node=record.node)


def _finalised(record: WorkerFinalised, _contract: Contract) -> FinalisedView:
    return FinalisedView(node=record.node, best=record.best)


ENTRIES = (
    Entry(Create, _create, {Role.MAIN: _ref}),
    Entry(Current, _current, {Role.WORKER: Whole(Assignment)}),
    Entry(Inspect, _inspect, dict.fromkeys((Role.MAIN, Role.OPERATOR), Whole(WorkerView))),
    Entry(Finalize, _finalize, {Role.WORKER: _finalised}),
)
RULES = (
    Rule("workers", Create, rules.workers_left),
    Rule("parallel", Create, rules.parallel_workers),
    Rule("share", Create, rules.share_of_experiments),
    Rule("predecessors", Create, rules.predecessors_are_finalised),
    Rule("closed", Create, rules.predecessors_are_open),
    Rule("replicates", Create, rules.replication_has_an_original),
    Rule("data", Create, rules.data_exists),
    Rule("recipe", Create, rules.recipe_is_allowed),
    Rule("active", Finalize, worker_is_active),
    Rule("running", Finalize, rules.nothing_runs),
)
