"""The state of a run on one screen: where it stands, its directions, what runs, what is left."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rich.console import ConsoleDimensions, Group, RenderableType
from rich.text import Text

from rsi_master.core.contract import Contract
from rsi_master.core.experiment import Experiment
from rsi_master.core.graph import Node
from rsi_master.core.state import State
from rsi_master.interfaces import panels
from rsi_master.interfaces.pulse import Gauge
from rsi_master.interfaces.standing import working

# A blank line and the heads of the columns.
TABLE_LINES = 2
# What a low screen keeps of figures and directions at least.
LEAST_FIGURES = 4
LEAST_NODES = 3
T = TypeVar("T")


@dataclass(frozen=True)
class Board:
    """What the screen shows; `now` is the time on the clock of the record. All but the beats of
    running trainings follows from the state, so it can be shown as of any event."""

    name: str
    contract: Contract
    state: State
    now: float
    gauge: Gauge
    standing: str = "running"

    def render(self, size: ConsoleDimensions | None = None) -> RenderableType:
        """The board, for a terminal of that size or for plain text. On a terminal no line is broken
        but Main's, and it shows as many figures, jobs and directions as there is room for: the
        weightiest, what is active before what is not, the newest."""
        head = panels.head(self.name, self.state, self.standing)
        figures = panels.figures(self.contract, self.state, self.now, size)
        nodes = list(self.state.graph.nodes.values())
        running = [] if self.standing == "finished" else working(self.state)
        if size is not None:
            running = _kept(running, size.height // 4, _started)
            room = size.height - len(head.plain.splitlines()) - _lines(running)
            most = room - _lines(nodes[:LEAST_NODES])
            figures = panels.weightiest(figures, max(LEAST_FIGURES, most))
            nodes = _kept(nodes, room - len(figures) - TABLE_LINES, Node.active)
        parts: list[RenderableType] = [head, panels.labelled(figures, size)]
        if nodes:
            parts += [Text(), panels.directions(self.state, nodes, size)]
        if running:
            parts += [Text(), panels.jobs(running, self.gauge, self.now, size)]
        return Group(*parts)


def _lines(rows: list[T]) -> int:
    """The lines of a table and the blank one before it."""
    return len(rows) + TABLE_LINES if rows else 0


def _started(experiment: Experiment) -> bool:
    return experiment.running() is not None


def _kept(items: list[T], most: int, active: Callable[[T], bool]) -> list[T]:
    """At most so many and at least one, in their order: active ones before others, the newest
    before older ones."""
    ranked = sorted(range(len(items)), key=lambda at: (active(items[at]), at), reverse=True)
    return [items[at] for at in sorted(ranked[: max(1, most)])]
