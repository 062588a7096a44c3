"""The same contract, seed and Workers with a Reviewer and without: they decide otherwise."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from rsi_master.agents.agent import Agent
from rsi_master.agents.playbook.main import MainPlaybook
from rsi_master.agents.playbook.reviewer import ReviewerPlaybook
from rsi_master.app import start
from rsi_master.app.reader import Record, check, read
from rsi_master.core.graph import DirectionClosed, WorkerCreated
from rsi_master.core.run import TurnRole
from rsi_master.core.turn import Ask
from rsi_master.domains.planning.workers import Assignment
from rsi_master.expos.gateway import Session
from rsi_master.testing.agents import SketchWorker

from .contracts import created, sketch


class OneBetterThanTheOther:
    """The first direction learns much, the second little."""

    def act(self, ask: Ask, session: Session) -> None:
        node = cast(Assignment, session.act("worker.current")).node
        SketchWorker([{"steps": 2 if node == "w2" else 8}]).act(ask, session)


def decided(folder: Path, reviewer: bool) -> Record:
    folder.mkdir()
    text = (
        sketch().replace("sketch/scraped", "sketch/few")
        + f"\n[research]\nreviewer = {str(reviewer).lower()}\n"
    )
    run, home = created(folder, text)
    agents: Mapping[TurnRole, Agent] = {
        "main": MainPlaybook(),
        "reviewer": ReviewerPlaybook(),
        "worker": OneBetterThanTheOther(),
    }
    start.run(run, home, start.Setting(agents=agents))
    assert check(run).flaws == ()
    return read(run)


def verified(record: Record) -> list[str]:
    """The directions whose experiments were trained again."""
    created = [node.created for node in record.state.graph.workers()]
    names = [c.replicates for c in created if isinstance(c, WorkerCreated) and c.replicates]
    return [record.state.experiments[name].worker() for name in names]


def test_without_a_reviewer_the_same_run_decides_otherwise(tmp_path: Path) -> None:
    """A review closes what it shows to be beaten, and only what it is not shown to be goes on."""
    reviewed, unreviewed = (decided(tmp_path / str(on), on) for on in (True, False))
    assert reviewed.state.finished is not None
    assert unreviewed.state.finished is not None
    assert (verified(reviewed), verified(unreviewed)) == (["w1"], ["w1", "w2"])
    closed = [e.fact.node for e in reviewed.events if isinstance(e.fact, DirectionClosed)]
    assert closed == ["w2"]
    assert not any(isinstance(e.fact, DirectionClosed) for e in unreviewed.events)
    assert len(reviewed.state.graph.reviews()) == 2
    assert not unreviewed.state.graph.reviews()
