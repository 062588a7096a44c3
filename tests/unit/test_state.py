"""The state: a fold over events, the same for the same events."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.action import Amounts
from rsi_master.core.event import Fact
from rsi_master.core.facts import CODEC
from rsi_master.core.job import Tier
from rsi_master.core.run import ActionIntended, ActionSettled, OwnerStarted
from rsi_master.core.state import State
from rsi_master.testing import tape
from rsi_master.testing.rig import sketch_contract

CONTRACT = sketch_contract()
OWNER = OwnerStarted(resumed=False, tier="none", platform="here")
HISTORY: tuple[Fact, ...] = (
    OWNER,
    tape.worker("w1"),
    *tape.life("a"),
    *tape.life("b", init="a", confirm=0.7),
    tape.finalised("w1", "b"),
    tape.requested("r1", "w1"),
    tape.reported("r1"),
    tape.integrity("a", "flagged"),
)


def replay(*facts: Fact) -> State:
    return State.replay(CONTRACT, tape.events(facts))


@given(st.integers(0, len(HISTORY)))
def test_a_prefix_and_its_rest_give_the_state_of_the_whole(cut: int) -> None:
    state = replay(*HISTORY[:cut])
    for event in tape.events(HISTORY[cut:], cut):
        state.apply(event)
    assert state == replay(*HISTORY)


def test_events_read_back_from_their_bytes_give_the_same_state() -> None:
    events = tape.events(HISTORY)
    again = [CODEC.read(event.to_bytes()) for event in events]
    assert State.replay(CONTRACT, again) == State.replay(CONTRACT, events)


def test_a_life_is_projected_step_by_step() -> None:
    seen = [replay(*tape.life("a")[:count]).experiments["a"].lifecycle for count in range(1, 10)]
    assert list(dict.fromkeys(seen)) == ["queued", "training", "trained", "evaluating", "finished"]


def test_a_flag_is_never_taken_back() -> None:
    state = replay(*tape.life("a"), tape.integrity("a", "flagged"), tape.integrity("a"))
    assert state.experiments["a"].integrity == "flagged"
    assert state.experiments["a"].flag == "seen"


def test_an_attempt_is_ended_by_its_own_name() -> None:
    state = replay(
        tape.queued("a"),
        tape.planned("a", 1),
        tape.attempted("a", 1, ending="lost"),
        tape.planned("a", 2),
        tape.attempted("a", 1, ending="ok", seconds=9.0),
    )
    first, second = state.experiments["a"].attempts
    assert second.ended is None
    assert state.experiments["a"].running() is second
    assert first.ended is not None
    assert state.experiments["a"].fence("train") == 2


def test_a_reservation_lives_from_the_intent_to_the_end_of_the_experiment() -> None:
    need = Amounts(device_seconds=20, evaluations=2, experiments=1)
    intended = ActionIntended(intent="i", action="experiment.submit", arguments={}, reserve=need)
    done = ActionSettled(intent="i", outcome="done", heir="a")
    facts = (intended, tape.queued("a"), done, *tape.life("a")[1:])
    held = [replay(*facts[:count]).books.reserved() for count in range(1, len(facts))]
    assert set(map(str, held)) == {str(need)}
    books = replay(*facts).books
    assert books.reserved() == Amounts()
    assert books.spent == Amounts(device_seconds=2.0, evaluations=2, experiments=1)


def test_an_abandoned_intent_frees_its_reservation() -> None:
    need = Amounts(experiments=1)
    intended = ActionIntended(intent="i", action="experiment.submit", arguments={}, reserve=need)
    gone = ActionSettled(intent="i", outcome="abandoned", code="OWNER_GONE")
    state = replay(intended, gone)
    assert (state.intents, state.books.reserved()) == ({}, Amounts())


def test_the_wall_clock_counts_owners_at_work_and_not_the_time_between() -> None:
    first = tape.events((OWNER, tape.worker("w1")))
    second = tape.events((OWNER,), 1000)
    state = State.replay(CONTRACT, (*first, *second))
    assert state.owners == 2
    assert state.wall(1005.0) == 1.0 + 5.0


def test_an_open_attempt_is_left_once_by_the_owner_that_planned_it() -> None:
    planned = tape.events((OWNER, tape.queued("a"), tape.planned("a"), tape.worker("w1")))
    visit = tape.events((OWNER, tape.worker("w2")), 1000)
    resumed = tape.events((OWNER, tape.attempted("a", ending="lost"), tape.planned("a", 2)), 2000)
    state = State.replay(CONTRACT, (*planned, *visit, *resumed))
    assert [attempt.left for attempt in state.experiments["a"].attempts] == [3.0, None]
    for event in tape.events((OWNER, OWNER), 3000):
        state.apply(event)
    assert [attempt.left for attempt in state.experiments["a"].attempts] == [3.0, 2002.0]


@pytest.mark.parametrize(
    ("tiers", "present", "weakest"),
    [
        ((), None, None),
        (("namespaces",), "namespaces", "namespaces"),
        (("namespaces", "none", "landlock"), "landlock", "none"),
        (("landlock", "namespaces"), "namespaces", "landlock"),
    ],
)
def test_the_isolation_is_that_of_the_present_owner_and_the_weakest_counts(
    tiers: tuple[Tier, ...], present: Tier | None, weakest: Tier | None
) -> None:
    state = replay(*(OwnerStarted(resumed=True, tier=tier, platform="here") for tier in tiers))
    assert (state.tier, state.weakest) == (present, weakest)


def test_data_and_ownership_are_found_by_name() -> None:
    state = replay(*HISTORY)
    assert [e.id for e in state.owned("w1")] == ["a", "b"]
    assert state.owned("w2") == []
    assert state.active_workers() == []
    assert state.unfinished() == []
    assert state.graph.scope("r1") == ("w1",)
    assert state.graph.scope("w1") == ()
    assert state.graph.predecessors("r1") == ()
