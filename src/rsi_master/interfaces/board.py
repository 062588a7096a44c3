"""The state of a run on one screen: where it stands, its directions, what runs, what is left."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rsi_master.core.contract import Contract
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.graph import Node, ReviewRequested, WorkerCreated
from rsi_master.core.score import Scored
from rsi_master.core.state import State
from rsi_master.expos.harvest import tail
from rsi_master.expos.lineage import selectable
from rsi_master.interfaces import words

TAIL_BYTES = 4096
# A blank line and the heads of the columns.
TABLE_LINES = 2
T = TypeVar("T")


@dataclass
class Pulse:
    """How far a running training is, read from the metrics that its job writes."""

    spool: Path
    planned: dict[str, int] = field(default_factory=dict)

    def step(self, experiment: Experiment) -> tuple[int, int] | None:
        """Steps done and planned; None when either is not known."""
        attempt = experiment.running()
        if attempt is None or attempt.planned.stage != "train":
            return None
        done = _last_step(self.spool / attempt.planned.job / "out" / "metrics.jsonl")
        total = self.planned.setdefault(experiment.id, _planned(experiment))
        return (min(done, total), total) if done is not None and total else None


@dataclass(frozen=True)
class Board:
    """What the screen shows; `now` is the time on the clock of the record."""

    name: str
    contract: Contract
    state: State
    now: float
    pulse: Pulse
    standing: str = "running"

    def render(self, height: int | None = None) -> RenderableType:
        """The board, for a terminal or for plain text. Within a height no line is broken, and of
        directions and jobs it shows as many as there is room for, the newest."""
        head, figures = _head(self), _figures(self, height is not None)
        parts: list[RenderableType] = [head, figures]
        nodes = list(self.state.graph.nodes.values())
        running = [] if self.standing == "finished" else working(self.state)
        if height is not None:
            running = _newest(running, height // 4)
            jobs = len(running) + TABLE_LINES if running else 0
            room = height - len(head.plain.splitlines()) - figures.row_count - jobs
            nodes = _newest(nodes, room - TABLE_LINES)
        if nodes:
            parts += [Text(), _nodes(self.state, nodes, height is not None)]
        if running:
            parts += [Text(), _jobs(running, self.pulse)]
        return Group(*parts)


def _newest(items: list[T], most: int) -> list[T]:
    return items[-max(1, most) :]


def best_on_dev(state: State) -> Experiment | None:
    """The accepted experiment with the highest dev score so far, the base left out."""
    able = [e for e in state.experiments.values() if e.id != BASE and selectable(state, e)]
    scored = [(dev, e) for e in able if (dev := _dev(e)) is not None]
    return max(scored, key=lambda pair: pair[0])[1] if scored else None


def working(state: State) -> list[Experiment]:
    """Experiments whose lifecycle has not ended, the scoring of the base among them."""
    return [e for e in state.experiments.values() if e.ended is None]


def standing(node: Node) -> str:
    """The state of a node in a word."""
    if node.active():
        return "active"
    if isinstance(node.created, ReviewRequested):
        return "reported"
    return "closed" if node.closed else "finalised"


def _head(board: Board) -> Text:
    opened = board.state.opened
    warning = "NOT ISOLATED: this run makes no claim about integrity\n"
    return Text(
        (warning if opened and opened.tier == "none" else "")
        + f"{board.name} is {board.standing} (intervals: 95 %)",
        no_wrap=True,
        overflow="ellipsis",
    )


def _figures(board: Board, narrow: bool) -> Table:
    table = _grid()
    for label, text in _figure_rows(board):
        table.add_row(label, _long(text, narrow))
    return table


def _figure_rows(board: Board) -> Iterator[tuple[str, str]]:
    state = board.state
    base, best = state.experiments.get(BASE), best_on_dev(state)
    yield "target", board.contract.target
    if state.opened is not None:
        yield "isolation", f"jobs run under '{state.opened.tier}'"
    yield "base", f"dev {words.split(base.score('dev') if base else None)}"
    if best is not None:
        owner = f"{words.short(best.id)} of {best.worker()}"
        yield "best", f"dev {words.split(best.score('dev'))}, {owner}"
    yield from _used(board)
    if state.denials:
        yield "denied", words.count(state.denials, "action")


def _used(board: Board) -> Iterator[tuple[str, str]]:
    books, limit = board.state.books, board.contract.budget
    spent, held = books.spent, books.reserved()
    reserved = f" ({held.device_seconds:.0f} s reserved)" if held.device_seconds else ""
    seconds = f"{spent.device_seconds:.0f} of {limit.device_seconds:g} device seconds{reserved}"
    yield (
        "used",
        f"{seconds}, {spent.experiments} of {words.count(limit.experiments, 'experiment')}",
    )
    evaluations = words.count(limit.evaluations, "evaluation")
    yield "", f"{spent.evaluations} of {evaluations}, each of a checkpoint on a split"
    wall = board.state.wall(board.now)
    left = words.seconds(max(0.0, limit.wall_seconds - wall))
    rest = "" if board.state.finished else f", {left} left"
    yield "clock", f"{words.seconds(wall)} used{rest}"


def _nodes(state: State, nodes: Sequence[Node], narrow: bool) -> Table:
    table = _grid("node", "direction", "state", "experiments", "best on dev")
    for node in nodes:
        created = node.created
        if isinstance(created, WorkerCreated):
            owned = state.owned(node.id)
            done = sum(1 for e in owned if e.ended is not None)
            able = [(_dev(e) or 0.0, e) for e in owned if selectable(state, e)]
            best = max(able, key=lambda pair: pair[0])[1] if able else None
            found = words.split(best.score("dev")) if best else ""
            share = f"{done} of {created.experiments}"
            text = _long(created.direction, narrow)
            table.add_row(node.id, text, standing(node), share, found)
        else:
            scope = f"review of {words.listed(created.scope)}"
            table.add_row(node.id, _long(scope, narrow), standing(node), "", "")
    return table


def _jobs(running: Sequence[Experiment], pulse: Pulse) -> Table:
    table = _grid("running", "of", "stage", "progress")
    for experiment in running:
        step = pulse.step(experiment)
        progress = f"step {step[0]} of {step[1]} ({100 * step[0] // step[1]} %)" if step else ""
        name = words.short(experiment.id)
        table.add_row(name, experiment.worker(), experiment.lifecycle, progress)
    return table


def _grid(*heads: str) -> Table:
    """A table without lines; its second column holds the long texts and gives way."""
    table = Table(box=None, show_header=bool(heads), pad_edge=False, padding=(0, 2, 0, 0))
    for at, head in enumerate(heads or ("", "")):
        table.add_column(head, header_style="dim", no_wrap=at != 1)
    return table


def _long(text: str, narrow: bool) -> Text:
    return Text(text, no_wrap=narrow, overflow="ellipsis" if narrow else "fold")


def _dev(experiment: Experiment) -> float | None:
    found = experiment.score("dev")
    return found.average.value if found and isinstance(found.average, Scored) else None


def _planned(experiment: Experiment) -> int:
    queued = experiment.queued
    found = words.specification(queued.recipe) if queued else None
    return found.planned_steps(queued.rows) if queued and found else 0


def _last_step(metrics: Path) -> int | None:
    """The step of the last whole line; a job may be writing the one after it."""
    lines = tail(metrics, TAIL_BYTES).split(b"\n")
    for line in reversed(lines[:-1]):
        raw = _object(line)
        if isinstance(raw.get("step"), int):
            return int(str(raw["step"]))
    return None


def _object(line: bytes) -> Mapping[str, object]:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return raw if isinstance(raw, dict) else {}
