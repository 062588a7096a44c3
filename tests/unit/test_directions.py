"""Directions are closed, reopened, and built on only while they are open."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from rsi_master.core.errors import PolicyDenied
from rsi_master.core.graph import DirectionClosed, DirectionReopened
from rsi_master.core.state import State
from rsi_master.domains.control.overview import OverviewView
from rsi_master.domains.planning.actions import ReopenedView
from rsi_master.domains.planning.workers import WorkerView
from rsi_master.interfaces.narrate import narrate
from rsi_master.interfaces.standing import standing
from rsi_master.testing.rig import Rig


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    rig = Rig(tmp_path_factory.mktemp("rig"))
    rig.score_base()
    yield rig
    rig.close()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A run whose w1 has finalised with one experiment."""
    rig = Rig(tmp_path)
    rig.score_base()
    rig.explored(rig.add())
    yield rig
    rig.close()


def close(rig: Rig, node: str = "w1") -> None:
    rig.main().act("direction.close", node=node, reason="another one is better")


def reopen(rig: Rig, node: str = "w1") -> ReopenedView:
    found = rig.main().act("direction.reopen", node=node, reason="it was closed too early")
    return cast(ReopenedView, found)


def statuses(rig: Rig) -> set[str]:
    """What every place says about w1."""
    seen = cast(WorkerView, rig.main().act("worker.inspect", node="w1")).status
    (listed,) = cast(OverviewView, rig.main().act("state.sync")).directions
    return {seen, listed.status, standing(rig.state.graph.nodes["w1"], rig.state)}


def denied(rig: Rig, action: str, **arguments: object) -> tuple[str, str]:
    before = rig.state.position
    with pytest.raises(PolicyDenied) as refused:
        rig.main().act(action, **arguments)
    assert {event.fact.type for event in rig.events()[before + 1 :]} == {"action.denied"}
    return refused.value.code, refused.value.message


def test_a_closed_direction_is_reopened_and_every_place_says_so(rig: Rig) -> None:
    assert statuses(rig) == {"finalised"}
    close(rig)
    assert statuses(rig) == {"closed"}
    assert reopen(rig) == ReopenedView(node="w1")
    assert statuses(rig) == {"finalised"}
    close(rig)
    assert statuses(rig) == {"closed"}
    assert [f.reason for f in rig.facts(DirectionReopened)] == ["it was closed too early"]
    assert len(rig.facts(DirectionClosed)) == 2


def test_the_record_replays_to_the_same_standing(rig: Rig) -> None:
    close(rig)
    reopen(rig)
    replayed = State.replay(rig.contract, rig.events())
    assert replayed.graph.nodes["w1"].closed is None
    upto = State.replay(rig.contract, rig.events()[:-3])
    assert upto.graph.nodes["w1"].closed is not None


def test_what_is_closed_is_not_closed_again(rig: Rig) -> None:
    close(rig)
    code, told = denied(rig, "direction.close", node="w1", reason="once more")
    assert (code, told) == ("CLOSED", "direction.close: w1 is closed already")


def test_what_is_open_is_not_reopened(rig: Rig) -> None:
    code, told = denied(rig, "direction.reopen", node="w1", reason="why not")
    assert (code, told) == ("CLOSED", "direction.reopen: w1 is not closed")


@pytest.mark.parametrize("action", ["direction.close", "direction.reopen"])
@pytest.mark.parametrize("node", ["w9", "main", "os", "r1"])
def test_a_direction_is_named_by_its_worker(opened: Rig, action: str, node: str) -> None:
    code, told = denied(opened, action, node=node, reason="it is none")
    assert code == "FINALISED"
    assert f"{node} is no Worker of this run" in told


def test_a_worker_at_work_is_neither_closed_nor_reopened(rig: Rig) -> None:
    node = rig.open_worker()
    for action in ("direction.close", "direction.reopen"):
        assert denied(rig, action, node=node, reason="now")[1].endswith(f"{node} still works")


def test_no_exploration_builds_on_a_closed_direction_until_it_is_reopened(rig: Rig) -> None:
    close(rig)
    task = {"direction": "a", "hypothesis": "b", "task": "c", "predecessors": ("w1",)}
    code, told = denied(rig, "worker.create", **task)
    assert code == "CLOSED"
    assert "predecessor w1 is a closed direction; direction.reopen it first" in told
    reopen(rig)
    assert rig.open_worker(predecessors=("w1",)) == "w2"


def test_a_verification_repeats_what_a_closed_direction_has(rig: Rig) -> None:
    (name,) = [e.id for e in rig.state.owned("w1")]
    close(rig)
    node, again = rig.verified(name)
    assert rig.state.graph.predecessors(node) == ("w1",)
    assert rig.state.experiments[again].lifecycle == "finished"


def test_a_reopening_is_told_to_the_operator(rig: Rig) -> None:
    close(rig)
    reopen(rig)
    (event,) = [e for e in rig.events() if isinstance(e.fact, DirectionReopened)]
    line = narrate(event, rig.state)
    assert line is not None
    assert (line.topic, line.text) == ("main", "reopens w1: it was closed too early")
