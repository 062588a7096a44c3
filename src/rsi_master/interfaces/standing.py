"""What stands out in the state of a run: the best experiment, what works, how a node stands."""

from collections.abc import Iterable
from typing import Literal

from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.graph import Node, ReviewRequested
from rsi_master.core.score import Scored
from rsi_master.core.state import State
from rsi_master.expos.lineage import selectable

NodeStanding = Literal["active", "reported", "closed", "finalised", "ended with the run"]


def best_of(state: State, able: Iterable[Experiment]) -> Experiment | None:
    """The accepted one of these with the highest dev score."""
    scored = [(dev, e) for e in able if selectable(state, e) and (dev := _dev(e)) is not None]
    return max(scored, key=lambda pair: pair[0])[1] if scored else None


def best_on_dev(state: State) -> Experiment | None:
    """The accepted experiment with the highest dev score so far, the base left out."""
    return best_of(state, (e for e in state.experiments.values() if e.id != BASE))


def working(state: State) -> list[Experiment]:
    """Experiments whose lifecycle has not ended, the scoring of the base among them."""
    return [e for e in state.experiments.values() if e.ended is None]


def standing(node: Node, state: State) -> NodeStanding:
    """How a node stands in a run of that state; nothing is at work in one that is over."""
    if node.active():
        return "active" if state.finished is None else "ended with the run"
    if isinstance(node.created, ReviewRequested):
        return "reported"
    return "closed" if node.closed else "finalised"


def _dev(experiment: Experiment) -> float | None:
    found = experiment.score("dev")
    return found.average.value if found and isinstance(found.average, Scored) else None
