"""Taint along lineages, and what may be continued or selected for it."""

from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.lineage import ancestors
from rsi_master.core.state import State


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


def refusal_to_continue(state: State, node: str, init: str, noun: str = "init") -> str | None:
    """Why a Worker may not start from that checkpoint, or None; `noun` is what it is called."""
    if init == BASE:
        return None
    known = state.experiments.get(init)
    if known is None or known.queued is None:
        return f"{noun} {init!r} is no experiment of this run; use 'base' or an own experiment"
    owners = {node, *state.graph.predecessors(node)}
    if known.queued.worker not in owners:
        return f"{noun} {init} belongs to {known.queued.worker}, which is no predecessor of {node}"
    bad = taint(state, init)
    if bad is not None:
        return f"{noun} {init} is tainted by the flagged experiment {bad}"
    if known.checkpoint is None or known.integrity != "accepted":
        return f"{noun} {init} has no accepted checkpoint"
    return None
