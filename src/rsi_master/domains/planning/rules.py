"""Limits of planning: how many Workers, what a verification is, who may be claimed."""

from rsi_master.core.graph import WorkerCreated
from rsi_master.domains.planning.ranking import rank
from rsi_master.expos.catalogue import Question
from rsi_master.expos.lineage import selectable


def workers_left(question: Question) -> str | None:
    """The contract bounds the Workers of a run."""
    limit = question.contract.research.workers
    if len(question.state.graph.workers()) < limit:
        return None
    return f"the contract allows {limit} Workers and all were created"


def parallel_workers(question: Question) -> str | None:
    """The contract bounds the Workers at work side by side."""
    limit = question.contract.research.parallel_workers
    active = [node.id for node in question.state.active_workers()]
    if len(active) < limit:
        return None
    return f"{', '.join(active)} are at work and the contract allows {limit} side by side"


def share_of_experiments(question: Question) -> str | None:
    """The contract bounds the experiments of one Worker."""
    limit = question.contract.research.experiments_per_worker
    if question.action.experiments <= limit:
        return None
    return f"{question.action.experiments} experiments asked, the contract allows {limit} a Worker"


def predecessors_are_finalised(question: Question) -> str | None:
    """Context comes from Workers that have ended."""
    for name in question.action.predecessors:
        node = question.state.graph.nodes.get(name)
        if node is None or not isinstance(node.created, WorkerCreated):
            return f"predecessor {name} is no Worker of this run"
        if node.active():
            return f"predecessor {name} still works"
    return None


def predecessors_are_open(question: Question) -> str | None:
    """An exploration builds on no closed direction; a verification only repeats what it has."""
    if question.action.purpose != "explore":
        return None
    for name in question.action.predecessors:
        node = question.state.graph.nodes.get(name)
        if node is not None and node.closed is not None:
            return f"predecessor {name} is a closed direction; direction.reopen it first"
    return None


def replication_has_an_original(question: Question) -> str | None:
    """A verification names one selectable experiment and a fresh seed, once; an exploration names
    none."""
    action, state = question.action, question.state
    if action.purpose == "explore":
        fresh = action.replicates or action.promotion
        return "an exploration replicates nothing" if fresh else None
    seeds = question.contract.policy.seeds_of_promotion
    if action.promotion >= seeds:
        return f"promotion {action.promotion}: the contract has {seeds} fresh seeds, from 0 on"
    original = state.experiments.get(action.replicates or "")
    if original is None or original.queued is None:
        return f"a verification names the experiment that it replicates, not {action.replicates!r}"
    if original.queued.purpose == "verify":
        return f"{original.id} is a verification itself; name the experiment that it repeats"
    if not selectable(state, original):
        return f"{original.id} is not accepted, not scored, or tainted"
    for node in state.graph.workers():
        created = node.created
        if not isinstance(created, WorkerCreated) or created.replicates != action.replicates:
            continue
        if created.promotion == action.promotion:
            if node.active() or any(e.lifecycle == "finished" for e in state.owned(node.id)):
                return f"{original.id} is verified by {node.id} already"
    return None


def data_exists(question: Question) -> str | None:
    """A direction starts from registered data."""
    for digest in question.action.data:
        if digest not in question.state.datasets:
            return f"dataset {digest[:19]} is not in the pool; see data.list"
    return None


def recipe_is_allowed(question: Question) -> str | None:
    """A direction is about a way to train that the contract allows."""
    wanted, allowed = question.action.recipe, question.contract.policy.ways()
    if wanted is None or wanted in allowed:
        return None
    return f"recipe {wanted!r} is not in the contract; it allows {', '.join(allowed)}"


def nothing_runs(question: Question) -> str | None:
    """A Worker waits for its experiments, or cancels them, before it finalises."""
    running = [e.id for e in question.state.owned(question.caller.node) if e.ended is None]
    return f"{', '.join(running)} still run; wait for or cancel them" if running else None


def worker_is_finalised(question: Question) -> str | None:
    """Only the direction of a finalised Worker is closed, and opened again."""
    node = question.state.graph.nodes.get(question.action.node)
    if node is None or not isinstance(node.created, WorkerCreated):
        return f"{question.action.node} is no Worker of this run"
    return f"{node.id} still works" if node.active() else None


def direction_is_open(question: Question) -> str | None:
    """A direction that is closed already is not closed again."""
    node = question.state.graph.nodes.get(question.action.node)
    return f"{node.id} is closed already" if node and node.closed else None


def direction_is_closed(question: Question) -> str | None:
    """Only a closed direction is reopened."""
    node = question.state.graph.nodes.get(question.action.node)
    return f"{node.id} is not closed" if node and not node.closed else None


def claim_is_due(question: Question) -> str | None:
    """One claim, of the best ranked recipe that was verified under the fixed seed."""
    state = question.state
    if state.claim is not None:
        return f"the holdout was opened for {state.claim.experiment}; a run claims once"
    fixed = question.contract.policy.seed_of_promotion
    ranking = [c for c in rank(state, fixed) if c.claimable is not None]
    if not ranking:
        return "no recipe was verified under the fixed seed; create a verification first"
    if question.action.experiment != ranking[0].claimable:
        return f"the ranking on confirm puts {ranking[0].claimable} first"
    return None
