"""The state of a run on one screen: where it stands, its directions, what runs, what is left."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rsi_master.app import plugins
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Refused
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.graph import Node, ReviewRequested, WorkerCreated
from rsi_master.core.score import Scored
from rsi_master.core.state import State
from rsi_master.expos.lineage import selectable
from rsi_master.interfaces import words

TAIL_BYTES = 4096


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
    """What the screen shows; `now` is the time on the clock of the record, `story` the last lines
    of the narration."""

    name: str
    contract: Contract
    state: State
    now: float
    pulse: Pulse
    story: Sequence[str] = ()
    standing: str = "running"

    def render(self) -> RenderableType:
        """The screen, for a terminal or for plain text."""
        parts: list[RenderableType] = [_head(self), _figures(self)]
        if self.state.graph.nodes:
            parts += [Text(), _nodes(self.state)]
        running = working(self.state)
        if running:
            parts += [Text(), _jobs(running, self.pulse)]
        if self.story:
            parts += [Text(), Text("\n".join(self.story), no_wrap=True, overflow="ellipsis")]
        return Group(*parts)


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


def _head(board: Board) -> RenderableType:
    opened = board.state.opened
    warning = "NOT ISOLATED: this run makes no claim about integrity\n"
    return Text(
        (warning if opened and opened.tier == "none" else "") + f"{board.name} is {board.standing}"
    )


def _figures(board: Board) -> RenderableType:
    state, books, limit = board.state, board.state.books, board.contract.budget
    base, best = state.experiments.get(BASE), best_on_dev(state)
    table = _grid()
    table.add_row("target", Text(board.contract.target))
    if state.opened is not None:
        table.add_row("tier", f"jobs run under isolation '{state.opened.tier}'")
    table.add_row("base", f"dev {words.split(base.score('dev') if base else None)}")
    if best is not None:
        owner = f"{words.short(best.id)} of {best.worker()}"
        table.add_row("best", f"dev {words.split(best.score('dev'))}, {owner}")
    spent, held = books.spent, books.reserved()
    reserved = f" ({held.device_seconds:.0f} s reserved)" if held.device_seconds else ""
    table.add_row(
        "used",
        f"{spent.device_seconds:.0f} of {limit.device_seconds:g} device seconds{reserved}, "
        f"{spent.evaluations} of {limit.evaluations} evaluations, "
        f"{spent.experiments} of {limit.experiments} experiments",
    )
    wall = state.wall(board.now)
    left = max(0.0, limit.wall_seconds - wall)
    table.add_row("clock", f"{words.seconds(wall)} used, {words.seconds(left)} left")
    if state.denials:
        table.add_row("denied", words.count(state.denials, "action"))
    return table


def _nodes(state: State) -> RenderableType:
    table = _grid("node", "direction", "state", "experiments", "best on dev")
    for node in state.graph.nodes.values():
        created = node.created
        if isinstance(created, WorkerCreated):
            owned = state.owned(node.id)
            done = sum(1 for e in owned if e.ended is not None)
            able = [(_dev(e) or 0.0, e) for e in owned if selectable(state, e)]
            best = max(able, key=lambda pair: pair[0])[1] if able else None
            found = words.split(best.score("dev")) if best else ""
            share = f"{done} of {created.experiments}"
            table.add_row(node.id, Text(created.direction), standing(node), share, found)
        else:
            scope = f"review of {words.listed(created.scope)}"
            table.add_row(node.id, scope, standing(node), "", "")
    return table


def _jobs(running: Sequence[Experiment], pulse: Pulse) -> RenderableType:
    table = _grid("running", "of", "stage", "progress")
    for experiment in running:
        step = pulse.step(experiment)
        progress = f"step {step[0]} of {step[1]} ({100 * step[0] // step[1]} %)" if step else ""
        name = words.short(experiment.id)
        table.add_row(name, experiment.worker(), experiment.lifecycle, progress)
    return table


def _grid(*heads: str) -> Table:
    table = Table(box=None, show_header=bool(heads), pad_edge=False, padding=(0, 2, 0, 0))
    for head in heads or ("", ""):
        table.add_column(head, header_style="dim", overflow="fold")
    return table


def _dev(experiment: Experiment) -> float | None:
    found = experiment.score("dev")
    return found.average.value if found and isinstance(found.average, Scored) else None


def _planned(experiment: Experiment) -> int:
    queued = experiment.queued
    if queued is None:
        return 0
    try:
        name = str(queued.recipe.get("name"))
        spec = plugins.recipes((name,))[name].spec.model_validate(queued.recipe)
    except (Refused, ValidationError):
        return 0
    return spec.planned_steps(queued.rows)


def _last_step(metrics: Path) -> int | None:
    """The step of the last whole line; a job may be writing the one after it."""
    try:
        with metrics.open("rb") as file:
            file.seek(max(0, metrics.stat().st_size - TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    for line in reversed(lines[:-1]):
        raw = _object(line)
        if isinstance(raw.get("step"), int):
            return int(str(raw["step"]))
    return None


def _object(line: bytes) -> Mapping[str, object]:
    try:
        raw = json.loads(line)
    except ValueError:
        return {}
    return raw if isinstance(raw, dict) else {}
