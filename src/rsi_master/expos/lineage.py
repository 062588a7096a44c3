"""Taint along lineages, and what may be continued or selected for it."""

from collections.abc import Iterable

from rsi_master.core.action import Amounts
from rsi_master.core.artifact import Digest
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.lineage import ancestors, origins, writers
from rsi_master.core.state import State


def taint(state: State, experiment: str) -> str | None:
    """The flagged experiment that it goes back to, if any: itself, one in its lineage or in that of
    its data, or one whose recipe and data it repeats as a verification."""
    for name in (experiment, *ancestors(state, experiment, _sources)):
        known = state.experiments.get(name)
        if known is not None and known.integrity == "flagged":
            return name
    return None


def _sources(state: State, experiment: str) -> tuple[str, ...]:
    """What it directly comes from, and what it repeats."""
    known = state.experiments.get(experiment)
    repeated = known.queued.replicates if known is not None and known.queued else None
    return (*origins(state, experiment), *((repeated,) if repeated else ()))


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


def refusal_of_data(state: State, datasets: Iterable[str]) -> str | None:
    """Why data may not be used: a checkpoint that wrote some of it is tainted by now."""
    for dataset in datasets:
        for writer in writers(state, (dataset,)):
            bad = taint(state, writer)
            if bad is not None:
                return (
                    f"dataset {dataset[:19]} holds answers of {writer}, tainted by the flagged "
                    f"experiment {bad}"
                )
    return None


def trainings(state: State, names: Iterable[str]) -> set[str]:
    """The experiments themselves and all that they continue, without the base: what a verification
    of them trains again."""
    found = {one for name in names for one in (name, *ancestors(state, name))}
    return {name for name in found if name in state.experiments} - {BASE}


def verification(state: State, names: Iterable[str]) -> Amounts:
    """What training and scoring these experiments again over their whole lineage may take."""
    need = Amounts()
    for name in trainings(state, names):
        queued = state.experiments[name].queued
        again = Amounts(device_seconds=queued.seconds if queued else 0.0, experiments=1)
        need = need.plus(state.costs.scoring).plus(again)
    return need


def checkpoint_of(state: State, name: str) -> tuple[Digest, Digest]:
    """Digests of a checkpoint's artifact and of its tensors, those of the base for one that has
    none: the policy has seen that there is one."""
    known = state.experiments.get(name)
    if known is not None and known.checkpoint is not None:
        return known.checkpoint.artifact.digest, known.checkpoint.proof.weights
    assert state.opened is not None, "the run is opened before anybody acts"
    return state.opened.base.digest, state.opened.sealed.base
