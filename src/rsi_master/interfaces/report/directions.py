"""How the nodes of the research graph hang together: which direction each belongs to, which of them
the best path passes, and where nothing went on. Pure, from the state alone."""

from dataclasses import dataclass
from typing import Literal

from rsi_master.core.experiment import BASE
from rsi_master.core.graph import Node, WorkerCreated
from rsi_master.core.lineage import parents
from rsi_master.core.run import ClaimScored
from rsi_master.core.state import State
from rsi_master.interfaces.report.layout import Arrow
from rsi_master.interfaces.standing import NodeStanding, best_on_dev, standing

Fate = NodeStanding | Literal["dead end"]


@dataclass(frozen=True)
class Leader:
    """The experiment that the best path leads to: the one claimed, or the best on dev so far."""

    experiment: str
    claimed: bool


def leader(state: State) -> Leader | None:
    """The leader of a run; None while nothing is accepted and scored."""
    if isinstance(state.claimed, ClaimScored):
        return Leader(state.claimed.experiment, claimed=True)
    best = best_on_dev(state)
    return Leader(best.id, claimed=False) if best else None


def best_path(state: State) -> frozenset[str]:
    """The Workers whose experiments the leader goes back to, also over what it verifies."""
    first = leader(state)
    open_ = [first.experiment] if first else []
    seen: set[str] = set()
    while open_:
        name = open_.pop()
        if name in seen:
            continue
        seen.add(name)
        known = state.experiments.get(name)
        open_ += parents(state, name)
        if known is not None and known.queued is not None and known.queued.replicates:
            open_.append(known.queued.replicates)
    owned = (state.experiments[name] for name in seen if name in state.experiments)
    return frozenset(one.worker() for one in owned if one.id != BASE)


def numbered(state: State) -> dict[str, int]:
    """The direction of each Worker, from 1 on: that of the Worker that it builds on first, or a new
    one."""
    found: dict[str, int] = {}
    for node in state.graph.workers():
        before = [name for name in state.graph.predecessors(node.id) if name in found]
        found[node.id] = found[before[0]] if before else 1 + max(found.values(), default=0)
    return found


def arrows(state: State) -> tuple[Arrow, ...]:
    """What each node builds on or reviews."""
    return tuple(
        (before, node.id) for node in state.graph.nodes.values() for before in _before(node)
    )


def fate(state: State, node: Node) -> Fate:
    """What became of a node. A dead end is a Worker that explored and has ended, on which no other
    builds and which the best path does not pass."""
    word = standing(node, state)
    if word != "finalised":
        return word
    verifies = isinstance(node.created, WorkerCreated) and node.created.purpose == "verify"
    built_on = any(node.id in state.graph.predecessors(w.id) for w in state.graph.workers())
    led_on = verifies or built_on or node.id in best_path(state)
    return "finalised" if led_on else "dead end"


def _before(node: Node) -> tuple[str, ...]:
    created = node.created
    return created.predecessors if isinstance(created, WorkerCreated) else created.scope
