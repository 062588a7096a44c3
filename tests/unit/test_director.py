"""The director: turns in threads, each ended once, asked again or taken over by the OS."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast, get_args

import pytest

from rsi_master.agents.playbook.main import MainPlaybook
from rsi_master.agents.playbook.reviewer import ReviewerPlaybook
from rsi_master.app.director import Director, LoopFollower
from rsi_master.app.lab import Lab
from rsi_master.app.laws import laws
from rsi_master.core.action import OS
from rsi_master.core.errors import Misuse, PolicyDenied
from rsi_master.core.event import Fact
from rsi_master.core.graph import ReviewSubmitted, WorkerFinalised
from rsi_master.core.run import ClaimScored, FinishAsked, TurnEnded, TurnRole, TurnStarted
from rsi_master.core.turn import Ask
from rsi_master.expos.gateway import Session
from rsi_master.testing import tape
from rsi_master.testing.agents import SketchWorker
from rsi_master.testing.rig import Rig, sketch_contract

CONTRACT = sketch_contract(research={"turn_seconds": 5.0, "turn_failures": 2})
Act = Callable[[Ask, Session], object]


def idle(_ask: Ask, _session: Session) -> None:
    """Do nothing."""


@dataclass
class Scripted:
    """Acts as a function says and keeps what it was given."""

    script: Act = idle
    asked: list[Ask] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        self.asked.append(ask)
        self.sessions.append(session)
        self.script(ask, session)


class Stage:
    """A rig whose roles are asked by a director; its clock stands still unless a test moves it."""

    def __init__(self, folder: Path) -> None:
        self.follower = LoopFollower(CONTRACT.research.turn_failures)
        self.rig = Rig(folder, CONTRACT, followers=(self.follower,))
        self.roles: dict[TurnRole, Scripted] = {role: Scripted() for role in get_args(TurnRole)}
        # Of a lab, a director uses what a rig has under the same names.
        self.director = Director(cast(Lab, self.rig), self.follower, self.roles)

    def put(self, *facts: Fact) -> None:
        self.rig.ledger.append(OS, facts).wait()

    def round(self, closing: bool = False) -> None:
        """Start what is due and wait for the turns to end."""
        self.director.tick(closing)
        limit = time.monotonic() + 10
        while not self.director.quiet():
            assert time.monotonic() < limit, "a turn does not end"
            time.sleep(0.001)

    def outcomes(self) -> list[tuple[str, str]]:
        return [(end.node, end.outcome) for end in self.rig.facts(TurnEnded)]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.director.close(5.0)
    stage.rig.close()


def raising(problem: Exception) -> Act:
    def act(_ask: Ask, _session: Session) -> None:
        raise problem

    return act


def test_a_turn_is_recorded_and_its_token_ends_with_it(stage: Stage) -> None:
    stage.roles["worker"].script = lambda _ask, session: session.act("worker.current")
    stage.put(tape.worker("w1"))
    stage.round()
    (started,) = stage.rig.facts(TurnStarted)
    (ended,) = stage.rig.facts(TurnEnded)
    assert (started.node, started.order, ended.outcome) == ("w1", ended.order, "done")
    (session,) = stage.roles["worker"].sessions
    with pytest.raises(PolicyDenied) as denied:
        session.act("worker.current")
    assert denied.value.code == "UNKNOWN_TOKEN"


def test_a_question_carries_the_limits_that_hold(stage: Stage) -> None:
    stage.put(tape.worker("w1"))
    stage.round(closing=True)
    (ask,) = stage.roles["worker"].asked
    assert (ask.role, ask.node, ask.trigger) == ("worker", "w1", "created")
    assert ask.limits.closing
    assert ask.limits.workers_now == CONTRACT.research.parallel_workers - 1


@pytest.mark.parametrize(
    ("problem", "detail"),
    [
        (ValueError("a bad plan"), "ValueError: a bad plan"),
        (Misuse("NOT_OWN", "w2"), "NOT_OWN: w2"),
    ],
)
def test_a_turn_that_raises_has_failed(stage: Stage, problem: Exception, detail: str) -> None:
    stage.roles["worker"].script = raising(problem)
    stage.put(tape.worker("w1"))
    stage.round()
    (ended,) = stage.rig.facts(TurnEnded)
    assert (ended.outcome, ended.detail) == ("failed", detail)


def test_a_worker_that_fails_too_often_is_ended_with_its_best(stage: Stage) -> None:
    stage.put(
        tape.worker("w1"),
        *tape.life("a", confirm=0.4),
        *tape.life("b", confirm=0.7),
        *tape.life("c", confirm=0.9),
        tape.integrity("c", "flagged"),
    )
    stage.roles["worker"].script = raising(ValueError("a bad plan"))
    for _ in range(8):
        stage.round()
    (end,) = stage.rig.facts(WorkerFinalised)
    assert (end.node, end.by, end.best) == ("w1", "os", "b")
    assert set(end.cites) == {"a", "b", "c"}
    assert "a bad plan" in end.summary
    assert stage.outcomes().count(("w1", "failed")) == CONTRACT.research.turn_failures


def test_a_reviewer_that_is_silent_is_excused_without_a_recommendation(stage: Stage) -> None:
    stage.put(tape.requested("r1"))
    stage.round()
    stage.round()
    (report,) = stage.rig.facts(ReviewSubmitted)
    assert (report.by, report.recommend, report.findings) == ("os", (), ())


def test_main_that_is_idle_ends_the_research(stage: Stage) -> None:
    stage.rig.score_base()
    stage.round()
    stage.round()
    assert len(stage.roles["main"].asked) == 1
    (asked,) = stage.rig.facts(FinishAsked)
    assert asked.reason == "Main took no further step"


def test_a_turn_over_its_time_fails_once_and_its_late_actions_open_nothing(stage: Stage) -> None:
    gate, late = threading.Event(), list[str]()

    def slow(_ask: Ask, session: Session) -> None:
        assert gate.wait(10)
        try:
            session.act("worker.current")
        except PolicyDenied as denied:
            late.append(denied.code)

    stage.roles["worker"].script = slow
    stage.put(tape.worker("w1"))
    stage.director.tick(False)
    stage.rig.clock.at += CONTRACT.research.turn_seconds + 1
    stage.roles["worker"].script = idle
    stage.director.tick(False)
    gate.set()
    stage.round()
    stage.director.close(5.0)
    assert late == ["UNKNOWN_TOKEN"]
    assert stage.outcomes()[0] == ("w1", "failed")
    assert "over 5 s" in stage.rig.facts(TurnEnded)[0].detail
    orders = [end.order for end in stage.rig.facts(TurnEnded)]
    assert len(orders) == len(set(orders))


def test_nothing_is_asked_while_paused(stage: Stage) -> None:
    stage.put(tape.worker("w1"))
    stage.rig.operator().act("run.pause", reason="a look around")
    stage.round()
    assert stage.roles["worker"].asked == []
    stage.rig.operator().act("run.resume")
    stage.round()
    assert len(stage.roles["worker"].asked) == 1


def test_turns_of_a_former_owner_are_asked_again_under_the_same_order(stage: Stage) -> None:
    stage.put(tape.worker("w1"))
    (order,) = stage.follower.loop.due
    stage.put(tape.turn(order.id, "w1"))
    stage.director.recover()
    assert stage.outcomes() == [("w1", "interrupted")]
    stage.round()
    (ask,) = stage.roles["worker"].asked
    assert ask.order == order.id


def test_closing_interrupts_what_is_under_way(stage: Stage) -> None:
    gate = threading.Event()
    stage.roles["worker"].script = lambda _ask, _session: gate.wait(10)
    stage.put(tape.worker("w1"))
    stage.director.tick(False)
    stage.director.close(0.01)
    gate.set()
    assert stage.outcomes() == [("w1", "interrupted")]


def test_a_turn_that_fails_for_its_token_was_taken_back_is_interrupted(stage: Stage) -> None:
    gate = threading.Event()

    def acting(_ask: Ask, session: Session) -> None:
        assert gate.wait(10)
        session.act("worker.current")

    stage.roles["worker"].script = acting
    stage.put(tape.worker("w1"))
    stage.director.tick(False)
    stage.director.revoke()
    gate.set()
    stage.director.close(10)
    assert stage.outcomes() == [("w1", "interrupted")]


def test_a_whole_run_on_fakes_ends_with_a_scored_claim(tmp_path: Path) -> None:
    """Main, Workers side by side and a Reviewer, each by its own playbook."""
    follower = LoopFollower(2)
    rig = Rig(tmp_path, sketch_contract(), followers=(follower,))
    director = Director(
        cast(Lab, rig),
        follower,
        {
            "main": MainPlaybook(),
            "reviewer": ReviewerPlaybook(),
            "worker": SketchWorker(({"steps": 2}, {"steps": 4, "gain": 0.15})),
        },
    )
    try:
        rig.engine.score_base()
        limit = time.monotonic() + 30
        while rig.state.finish_asked is None:
            assert time.monotonic() < limit, follower.loop
            rig.tick()
            director.tick(False)
            rig.wake.wait(0.01)
        (scored,) = rig.facts(ClaimScored)
        assert scored.result.difference is not None and scored.result.difference.low > 0
        assert [end.outcome for end in rig.facts(TurnEnded)].count("failed") == 0
        assert [flaw for law in laws(rig.objects, rig.contract) for flaw in law(rig.events())] == []
    finally:
        director.close(5.0)
        rig.close()
