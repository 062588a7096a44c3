"""The submission review: what the policy asks of an experiment before it costs anything."""

from rsi_master.core.action import Amounts, Role
from rsi_master.core.experiment import BASE
from rsi_master.core.graph import WorkerCreated
from rsi_master.domains.training.identity import effective
from rsi_master.expos.catalogue import Question
from rsi_master.expos.lineage import refusal_to_continue


def worker_is_active(question: Question) -> str | None:
    """A finalised Worker submits nothing."""
    node = question.state.graph.nodes.get(question.caller.node)
    if node is not None and node.active():
        return None
    return f"{question.caller.node} is finalised or unknown; Main may create another Worker"


def wall_clock_is_left(question: Question) -> str | None:
    """Past the wall clock nothing new is begun."""
    state, limit = question.state, question.contract.budget.wall_seconds
    if state.wall(state.at) <= limit:
        return None
    return f"the wall clock of {limit:g} s is over; finalise"


def recipe_is_allowed(question: Question) -> str | None:
    """Only recipes that the contract lists."""
    name = question.action.recipe.name
    allowed = question.contract.policy.recipes
    return None if name in allowed else f"recipe {name!r} is not in the contract: {allowed}"


def data_exists(question: Question) -> str | None:
    """Only datasets that passed the scan."""
    if question.action.data in question.state.datasets:
        return None
    return f"dataset {question.action.data[:19]} is not in the pool; see data.list"


def data_is_of_its_kind(question: Question) -> str | None:
    """A recipe trains on the kind of rows that it was written for."""
    action = question.action
    dataset = question.state.datasets.get(action.data)
    if dataset is None or dataset.holds == action.recipe.takes:
        return None
    return (
        f"dataset {action.data[:19]} holds {dataset.holds}, and recipe {action.recipe.name} takes "
        f"{action.recipe.takes}; see data.list"
    )


def init_may_be_continued(question: Question) -> str | None:
    """θ_in is the base, or an accepted checkpoint of the Worker or a designated predecessor. A
    verification may start where the Worker of its original might."""
    created = _assignment(question)
    original = question.state.experiments.get(created.replicates or "") if created else None
    node = original.worker() if original is not None else question.caller.node
    return refusal_to_continue(question.state, node, question.action.init)


def worker_has_experiments_left(question: Question) -> str | None:
    """Main gave the Worker a number of experiments; refunded trials do not count."""
    created = _assignment(question)
    if created is None:
        return None
    used = sum(
        1
        for e in question.state.owned(question.caller.node)
        if e.ended is None or e.ended.spent.experiments > 0
    )
    if used < created.experiments:
        return None
    return f"all {created.experiments} experiments of {question.caller.node} are used; finalise"


def verification_stays_affordable(question: Question) -> str | None:
    """An exploration leaves enough to train and score its recipe once more, on the fresh seed."""
    created, action, state = _assignment(question), question.action, question.state
    dataset = state.datasets.get(action.data)
    if created is None or created.purpose == "verify" or dataset is None:
        return None
    seconds = action.recipe.device_seconds(dataset.rows, state.parameters())
    once = state.costs.scoring.plus(Amounts(device_seconds=seconds, experiments=1))
    lacking = state.books.left().lacking(once.plus(once))
    if not lacking:
        return None
    return f"the {lacking[0]} left would not cover its verification; submit less or finalise"


def not_a_repeat(question: Question) -> str | None:
    """The same effective recipe under the same seed gives the same weights; look it up instead."""
    created = _assignment(question)
    if created is None or created.purpose == "verify":
        return None
    digest = effective(
        question.state, question.action.recipe, question.action.init, (question.action.data,)
    )
    for known in question.state.experiments.values():
        queued = known.queued
        if queued is None or queued.effective != digest or queued.purpose != "explore":
            continue
        if known.ended is None or known.ended.lifecycle == "finished":
            return f"repeats {known.id} of {queued.worker}: equal effective recipe and seed"
    return None


def replication_is_exact(question: Question) -> str | None:
    """A verification Worker trains the recipe that it was made for, and no other."""
    created = _assignment(question)
    if created is None or created.purpose != "verify" or created.replicates is None:
        return None
    original = question.state.experiments[created.replicates].queued
    digest = effective(
        question.state, question.action.recipe, question.action.init, (question.action.data,)
    )
    if original is not None and original.effective == digest:
        return None
    return f"a verification trains the recipe of {created.replicates} and no other"


def experiment_is_in_sight(question: Question) -> str | None:
    """Workers see own and predecessors' experiments, Reviewers those in scope."""
    caller, state = question.caller, question.state
    known = state.experiments.get(question.action.experiment)
    if known is None or known.id == BASE or caller.role in (Role.MAIN, Role.OPERATOR):
        return None
    if caller.role == Role.WORKER:
        sight: tuple[str, ...] = (caller.node, *state.graph.predecessors(caller.node))
    else:
        sight = state.graph.scope(caller.node)
    if known.worker() in sight:
        return None
    return f"{known.id} belongs to {known.worker()}, which {caller.node} may not look into"


def experiment_is_own(question: Question) -> str | None:
    """Only the owner of an experiment, or the operator, cancels it."""
    known = question.state.experiments.get(question.action.experiment)
    if question.caller.role == Role.OPERATOR or known is None:
        return None
    if known.worker() == question.caller.node:
        return None
    return f"{known.id} belongs to {known.worker()}"


def _assignment(question: Question) -> WorkerCreated | None:
    node = question.state.graph.nodes.get(question.caller.node)
    return node.created if node and isinstance(node.created, WorkerCreated) else None
