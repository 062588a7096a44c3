"""The orchestration's pure step: triggers, one question at a time, limits of failure, replay."""

from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.action import Amounts
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.run import (
    ClaimFailed,
    ClaimOpened,
    FinishAsked,
    RunFinished,
    StopAsked,
)
from rsi_master.research.step import Loop, Order, ready, step
from rsi_master.testing import tape

ALLOWED = 2


class Tape:
    """Feeds facts to the step and keeps what it orders."""

    def __init__(self) -> None:
        self.loop = Loop(failures_allowed=ALLOWED)
        self.position = 0

    def put(self, *facts: Fact) -> list[Order]:
        orders: list[Order] = []
        for event in tape.events(facts, self.position):
            self.position += 1
            self.loop, found = step(self.loop, event)
            orders += found
        return orders

    def take(self, node: str) -> str:
        """Start the ready order of that node; its id."""
        order = next(order for order in ready(self.loop) if order.node == node)
        self.put(tape.turn(order.id, node, order.role))
        return order.id

    def turn(self, node: str, *facts: Fact, outcome: str = "done") -> list[Order]:
        """A whole turn of a node, in which these facts happen."""
        order = self.take(node)
        self.put(*facts)
        return self.put(tape.turned(order, node, outcome))


@pytest.fixture
def board() -> Tape:
    """Main was asked once and opened two Workers."""
    board = Tape()
    board.put(tape.ended("base"))
    board.turn("main", tape.worker("w1"), tape.worker("w2"))
    return board


def asked(orders: list[Order]) -> list[tuple[str, str]]:
    return [(order.node, order.trigger) for order in orders if order.kind == "ask"]


def claim_opened() -> ClaimOpened:
    return ClaimOpened(experiment="a", intent="i", name="claim-i")


def claim_failed() -> ClaimFailed:
    return ClaimFailed(experiment="a", name="claim-i", reason="gone", spent=Amounts())


def test_the_score_of_the_base_starts_main() -> None:
    assert asked(Tape().put(tape.ended("base"))) == [("main", "start")]


def test_a_base_that_could_not_be_scored_ends_the_run() -> None:
    (end,) = Tape().put(tape.ended("base", "failed"))
    assert end.kind == "finish"


def test_a_new_worker_and_a_new_reviewer_are_asked() -> None:
    orders = Tape().put(tape.worker("w1"), tape.requested("r1", "w1"))
    assert [(o.node, o.role, o.trigger) for o in orders] == [
        ("w1", "worker", "created"),
        ("r1", "reviewer", "created"),
    ]


@pytest.mark.parametrize(
    ("fact", "trigger"),
    [
        (tape.finalised("w1"), "worker_finalised"),
        (tape.reported("r1"), "review_reported"),
        (claim_failed(), "claimed"),
    ],
)
def test_main_is_asked_when_something_is_due(fact: Fact, trigger: str) -> None:
    assert asked(Tape().put(fact)) == [("main", trigger)]


def test_nothing_else_asks_main() -> None:
    board = Tape()
    board.put(tape.worker("w1"))
    for fact in (*tape.life("a"), claim_opened()):
        assert "main" not in [order.node for order in board.put(fact)], fact.type


def test_one_waiting_question_to_main_is_enough(board: Tape) -> None:
    assert asked(board.put(tape.finalised("w1"))) == [("main", "worker_finalised")]
    assert board.put(tape.finalised("w2")) == []


def test_a_question_that_main_is_answering_does_not_stand_for_later_news(board: Tape) -> None:
    board.put(tape.finalised("w1"))
    board.take("main")
    assert asked(board.put(tape.finalised("w2"))) == [("main", "worker_finalised")]
    assert all(order.node != "main" for order in ready(board.loop))


def test_a_worker_is_asked_when_the_last_of_its_experiments_ends(board: Tape) -> None:
    board.turn("w1", tape.queued("a", "w1"), tape.queued("b", "w1"))
    board.turn("w2", tape.queued("c", "w2"))
    assert board.put(tape.ended("a")) == []
    assert asked(board.put(tape.ended("b"))) == [("w1", "results")]


def test_results_that_come_within_the_turn_are_asked_about_after_it(board: Tape) -> None:
    order = board.take("w1")
    board.put(tape.queued("a", "w1"), tape.ended("a"))
    assert all(waiting.node != "w1" for waiting in ready(board.loop))
    board.put(tape.turned(order, "w1"))
    assert [(o.node, o.trigger) for o in ready(board.loop) if o.node == "w1"] == [("w1", "results")]


def test_a_failed_turn_is_asked_again_up_to_the_limit_and_then_ended(board: Tape) -> None:
    assert asked(board.turn("w1", outcome="failed")) == [("w1", "created")]
    (end,) = board.turn("w1", outcome="failed")
    assert (end.kind, end.node) == ("finalise", "w1")


def test_a_turn_that_went_well_forgives_earlier_failures(board: Tape) -> None:
    board.turn("w1", outcome="failed")
    board.turn("w1", tape.queued("a", "w1"))
    board.put(tape.ended("a"))
    assert asked(board.turn("w1", outcome="failed")) == [("w1", "created")]


def test_a_reviewer_that_fails_is_excused() -> None:
    board = Tape()
    board.put(tape.requested("r1", "w1"))
    board.turn("r1", outcome="failed")
    (end,) = board.turn("r1", outcome="failed")
    assert (end.kind, end.node) == ("excuse", "r1")


def test_a_worker_that_does_nothing_is_ended(board: Tape) -> None:
    (end,) = board.turn("w1")
    assert (end.kind, end.node) == ("finalise", "w1")


def test_a_failed_turn_whose_experiment_runs_waits_for_it(board: Tape) -> None:
    assert board.turn("w1", tape.queued("a", "w1"), outcome="failed") == []
    assert asked(board.put(tape.ended("a"))) == [("w1", "results")]


def test_a_worker_that_has_finalised_is_never_asked_again(board: Tape) -> None:
    orders = board.turn("w1", tape.finalised("w1"), outcome="failed")
    assert [order for order in orders if order.node == "w1"] == []
    assert "w1" not in [order.node for order in ready(board.loop)]


def test_an_interrupted_turn_that_had_come_to_something_is_not_asked_again(board: Tape) -> None:
    for node, done in (("w1", tape.queued("a", "w1")), ("w2", tape.finalised("w2"))):
        board.turn(node, done, outcome="interrupted")
        assert node not in [order.node for order in ready(board.loop)]
    assert asked(board.put(tape.ended("a"))) == [("w1", "results")]


def test_an_interrupted_turn_stands_for_later_questions_to_its_node(board: Tape) -> None:
    board.put(tape.finalised("w1"))
    order = board.take("main")
    board.put(tape.finalised("w2"), tape.turned(order, "main", "interrupted"))
    assert [waiting.id for waiting in ready(board.loop)] == [order]


def test_results_are_not_asked_about_while_the_next_training_runs(board: Tape) -> None:
    order = board.take("w1")
    board.put(tape.queued("a", "w1"), tape.ended("a"), tape.queued("b", "w1"))
    board.put(tape.turned(order, "w1"))
    assert all(waiting.node != "w1" for waiting in ready(board.loop))
    assert asked(board.put(tape.ended("b"))) == [("w1", "results")]


def test_an_interrupted_turn_is_asked_again_as_it_was(board: Tape) -> None:
    order = board.take("w1")
    assert board.put(tape.turned(order, "w1", "interrupted")) == []
    assert order in [waiting.id for waiting in ready(board.loop)]
    assert board.loop.failures == {}


def test_main_that_does_nothing_ends_the_run_only_when_nothing_is_under_way(board: Tape) -> None:
    board.put(tape.finalised("w1"))
    assert board.turn("main") == []
    board.put(tape.finalised("w2"))
    (end,) = board.turn("main")
    assert (end.kind, end.node) == ("finish", "main")


def test_main_does_not_finish_over_a_claim_or_an_experiment(board: Tape) -> None:
    board.put(tape.finalised("w1"), tape.finalised("w2"))
    assert board.turn("main", claim_opened()) == []
    assert asked(board.put(claim_failed())) == [("main", "claimed")]
    assert [order.kind for order in board.turn("main")] == ["finish"]


def test_main_that_fails_is_asked_again_and_then_the_run_ends(board: Tape) -> None:
    board.put(tape.finalised("w1"), tape.finalised("w2"))
    assert asked(board.turn("main", outcome="failed")) == [("main", "closing")]
    assert [order.kind for order in board.turn("main", outcome="failed")] == ["finish"]


@pytest.mark.parametrize(
    "end",
    [
        FinishAsked(reason="done"),
        StopAsked(reason="a person"),
        RunFinished(outcome="stopped", champion=None, reason="a person"),
    ],
)
def test_after_the_end_nobody_is_asked(board: Tape, end: Fact) -> None:
    board.put(end)
    assert board.loop.over
    assert board.put(tape.finalised("w1"), tape.worker("w3"), *tape.life("a")) == []
    assert ready(board.loop) == ()


def test_a_node_has_one_turn_at_a_time_and_nodes_do_not_wait_for_each_other(board: Tape) -> None:
    assert {order.node for order in ready(board.loop)} == {"w1", "w2"}
    board.take("w1")
    assert {order.node for order in ready(board.loop)} == {"w2"}


NAMES = ("a", "b", "c")
WORKERS = ("w1", "w2")
OUTCOMES = ("done", "failed", "interrupted")


def _possible() -> list[Fact]:
    facts: list[Fact] = [tape.requested("r1", "w1"), tape.reported("r1")]
    facts += [claim_opened(), claim_failed(), tape.ended("base")]
    for node in WORKERS:
        facts += [tape.worker(node), tape.finalised(node)]
        facts += [tape.queued(name, node) for name in NAMES]
    return facts + [tape.ended(name) for name in NAMES]


POSSIBLE = _possible()


def _may_be(fact: Fact, loop: Loop) -> bool:
    """The policy lets only a Worker at work submit."""
    return not isinstance(fact, ExperimentQueued) or fact.worker in loop.active


def _history(choices: list[int]) -> list[Event]:
    """Events in almost any order; turns answer real orders."""
    loop, found = Loop(failures_allowed=ALLOWED), list[Event]()
    for position, choice in enumerate(choices):
        starts = [tape.turn(o.id, o.node, o.role) for o in ready(loop)]
        ends = [
            tape.turned(order.id, order.node, outcome)
            for order in loop.due
            if order.id in loop.started
            for outcome in OUTCOMES
        ]
        turns: list[Fact] = [*starts, *ends]
        facts = turns if turns and choice % 2 else [f for f in POSSIBLE if _may_be(f, loop)]
        (event,) = tape.events([facts[choice // 2 % len(facts)]], position)
        loop, _ = step(loop, event)
        found.append(event)
    return found


happenings = st.lists(st.integers(0, 400), min_size=1, max_size=40).map(_history)


def fold(events: list[Event]) -> tuple[Loop, list[Order]]:
    loop, orders = Loop(failures_allowed=ALLOWED), list[Order]()
    for event in events:
        loop, found = step(loop, event)
        orders += found
    return loop, orders


@given(happenings, st.integers(0, 40))
def test_replaying_any_prefix_gives_the_same_loop_and_orders(events: list[Event], cut: int) -> None:
    again = [Event.model_validate(dict(event)) for event in events]
    assert fold(events[:cut]) == fold(again[:cut])
    loop, orders = fold(events[:cut])
    for event in events[cut:]:
        loop, found = step(loop, event)
        orders += found
    assert (loop, orders) == fold(events)


@given(happenings)
def test_the_step_changes_no_loop_that_it_is_given(events: list[Event]) -> None:
    loop = Loop(failures_allowed=ALLOWED)
    for event in events:
        before = deepcopy(loop)
        after, _ = step(loop, event)
        assert loop == before
        loop = after


@given(happenings)
def test_laws_of_the_orders_hold_for_any_history(events: list[Event]) -> None:
    loop = Loop(failures_allowed=ALLOWED)
    for event in events:
        loop, orders = step(loop, event)
        waiting = [o for o in loop.due if o.node == "main" and o.id not in loop.started]
        assert len(waiting) <= 1
        assert len({order.id for order in loop.due}) == len(loop.due)
        assert set(orders) <= set(loop.due)
        for order in ready(loop):
            if order.role == "worker":
                assert order.node in loop.active
                assert order.node not in loop.running.values()
