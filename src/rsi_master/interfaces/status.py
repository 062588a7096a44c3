"""Where a run stands, read from its record while the owner may go on writing."""

import time
from typing import Literal

from rsi_master.app.home import Home
from rsi_master.app.reader import Record
from rsi_master.core.action import Amounts
from rsi_master.core.experiment import BASE
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.job import Tier
from rsi_master.core.model import Value
from rsi_master.core.score import SplitScore
from rsi_master.core.text import line
from rsi_master.interfaces import client, ending, terminal
from rsi_master.interfaces.board import Board
from rsi_master.interfaces.pulse import Pulse
from rsi_master.interfaces.standing import best_on_dev, standing, working

Standing = Literal["running", "paused", "stopped half-way", "finished"]


class Direction(Value):
    """A node of the research graph in short."""

    node: str
    kind: Literal["worker", "review"]
    label: str
    state: str
    experiments: tuple[str, ...]


class Running(Value):
    """An experiment that has not ended; steps are known while it trains."""

    experiment: str
    worker: str
    lifecycle: str
    step: int | None
    steps: int | None


class Status(Value):
    """A run at a glance. Scores are those on dev."""

    run: str
    standing: Standing
    tier: Tier | None
    target: str
    events: int
    base: SplitScore | None
    best: str | None
    best_score: SplitScore | None
    directions: tuple[Direction, ...]
    running: tuple[Running, ...]
    limit: Amounts
    spent: Amounts
    reserved: Amounts
    wall_seconds: float
    wall_limit: float
    denials: int
    ending: ending.Ending | None


class Glance:
    """A record together with whether somebody owns the run now."""

    def __init__(self, record: Record, home: Home) -> None:
        self._record = record
        self._owned = client.owned(record.folder, home)
        self._now = time.time() if self._owned else record.state.at
        self._pulse = Pulse(record.folder.spool)

    def standing(self) -> Standing:
        """The state of the run in a word."""
        if self._record.state.finished is not None:
            return "finished"
        if not self._owned:
            return "stopped half-way"
        return "paused" if self._record.state.paused else "running"

    def show(self) -> None:
        """Print it for people."""
        record = self._record
        name = record.folder.path.name
        board = Board(name, record.contract, record.state, self._now, self._pulse, self.standing())
        terminal.show(board.render(), "")
        if self.standing() == "finished":
            terminal.tell(ending.text(ending.ending(record)))
        elif self.standing() == "stopped half-way":
            asked = record.state.stop_asked
            if asked is not None:
                told = line(asked.reason)
                terminal.tell(f"a stop was asked for ({told}), which closes the record:")
            terminal.tell(ending.unfinished(record.folder))

    def status(self) -> Status:
        """The same as data."""
        record, state = self._record, self._record.state
        base, best = state.experiments.get(BASE), best_on_dev(state)
        finished = state.finished is not None
        return Status(
            run=record.folder.id,
            standing=self.standing(),
            tier=state.weakest,
            target=record.contract.target,
            events=len(record.events),
            base=base.score("dev") if base else None,
            best=best.id if best else None,
            best_score=best.score("dev") if best else None,
            directions=self._directions(),
            running=self._running(),
            limit=state.books.limit,
            spent=state.books.spent,
            reserved=state.books.reserved(),
            wall_seconds=round(state.wall(self._now), 3),
            wall_limit=record.contract.budget.wall_seconds,
            denials=state.denials,
            ending=ending.ending(record) if finished else None,
        )

    def _directions(self) -> tuple[Direction, ...]:
        state = self._record.state
        return tuple(
            Direction(
                node=node.id,
                kind="worker" if isinstance(node.created, WorkerCreated) else "review",
                label=node.created.direction
                if isinstance(node.created, WorkerCreated)
                else node.created.question,
                state=standing(node, state),
                experiments=tuple(e.id for e in state.owned(node.id)),
            )
            for node in state.graph.nodes.values()
        )

    def _running(self) -> tuple[Running, ...]:
        found = []
        for experiment in working(self._record.state):
            beat = self._pulse.beat(experiment, self._now)
            found.append(
                Running(
                    experiment=experiment.id,
                    worker=experiment.worker(),
                    lifecycle=experiment.lifecycle,
                    step=beat.step if beat else None,
                    steps=beat.steps if beat else None,
                )
            )
        return tuple(found)
