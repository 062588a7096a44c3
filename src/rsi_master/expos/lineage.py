"""Lineage and taint over the experiment graph: an edge where one continues another's checkpoint."""

from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.state import State


def ancestors(state: State, experiment: str) -> tuple[str, ...]:
    """Ids of all that it continues down to the base, each once, nearest first: an experiment comes
    before what it continues itself."""
    order: list[str] = []
    seen: set[str] = set()
    open_ = [(experiment, False)]
    while open_:
        name, done = open_.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            open_.append((name, True))
            open_ += [(parent, False) for parent in parents(state, name)]
    return tuple(reversed(order[:-1]))


def parents(state: State, experiment: str) -> tuple[str, ...]:
    """What an experiment continues or merges; nothing for the base and for unknown ids."""
    known = state.experiments.get(experiment)
    return known.queued.parents() if known is not None and known.queued else ()


def taint(state: State, experiment: str) -> str | None:
    """The flagged experiment that it goes back to, if any: itself, one in its lineage, or one whose
    recipe and data it repeats as a verification."""
    for name in (experiment, *ancestors(state, experiment)):
        known = state.experiments.get(name)
        if known is not None and known.integrity == "flagged":
            return name
        if known is not None and known.queued is not None and known.queued.replicates:
            original = taint(state, known.queued.replicates)
            if original is not None:
                return original
    return None


def selectable(state: State, experiment: Experiment) -> bool:
    """Accepted, scored, and without taint: only such experiments are continued or selected."""
    return (
        experiment.integrity == "accepted"
        and experiment.evaluation is not None
        and experiment.lifecycle == "finished"
        and taint(state, experiment.id) is None
    )


def refusal_to_continue(state: State, node: str, init: str) -> str | None:
    """Why a Worker may not start from that checkpoint, or None."""
    if init == BASE:
        return None
    known = state.experiments.get(init)
    if known is None or known.queued is None:
        return f"init {init!r} is no experiment of this run; use 'base' or an own experiment"
    owners = {node, *state.graph.predecessors(node)}
    if known.queued.worker not in owners:
        return f"init {init} belongs to {known.queued.worker}, which is no predecessor of {node}"
    bad = taint(state, init)
    if bad is not None:
        return f"init {init} is tainted by the flagged experiment {bad}"
    if known.checkpoint is None or known.integrity != "accepted":
        return f"init {init} has no accepted checkpoint"
    return None
