"""Allocation: the floor of three experiments a direction, and what the rest allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.action import Amounts
from rsi_master.core.event import Fact
from rsi_master.core.run import ActionIntended
from rsi_master.core.state import State
from rsi_master.core.turn import Limits
from rsi_master.research.allocation import (
    conclusion,
    directions,
    limits,
    reserve,
    verifications,
)
from rsi_master.testing import tape
from rsi_master.testing.rig import Section, sketch_contract


def allowed(*facts: Fact, closing: bool = False, **sections: Section) -> Limits:
    contract = sketch_contract(**sections)
    return limits(State.replay(contract, tape.events(facts)), contract, closing)


@pytest.mark.parametrize(("total", "most"), [(1, 2), (10, 2), (15, 3), (30, 6), (60, 12)])
def test_directions_are_three_fifths_of_a_third_and_at_least_two(total: int, most: int) -> None:
    assert directions(total) == most


@given(st.integers(10, 1000), st.integers(3, 1000))
def test_each_direction_can_have_its_floor_within_the_exploring_share(
    total: int, share: int
) -> None:
    found = allowed(budget={"experiments": total}, research={"experiments_per_worker": share})
    assert found.experiments_each >= 3
    assert found.directions * found.experiments_each <= 0.6 * total + 1e-9


def test_a_small_budget_still_opens_two_directions_of_one() -> None:
    found = allowed(budget={"experiments": 2})
    assert (found.directions, found.experiments_each) == (2, 1)


def test_workers_side_by_side_and_in_all_are_bounded() -> None:
    research = {"workers": 3, "parallel_workers": 2}
    assert allowed(research=research).workers_now == 2
    one = (tape.worker("w1"),)
    assert allowed(*one, research=research).workers_now == 1
    two = (*one, tape.worker("w2"))
    assert allowed(*two, research=research).workers_now == 0
    done = (*two, tape.finalised("w1"), tape.finalised("w2"))
    assert allowed(*done, research=research).workers_now == 0
    assert allowed(*done, research=research).verifying_now == 1
    assert allowed(*done, research=research).verifications == 1


@pytest.mark.parametrize(("workers", "explore"), [(1, 1), (2, 1), (3, 2), (8, 6)])
def test_workers_are_kept_for_the_verifications_but_never_all(workers: int, explore: int) -> None:
    found = allowed(research={"workers": workers, "parallel_workers": 9})
    assert (found.workers_now, found.verifying_now) == (explore, workers)


@pytest.mark.parametrize(
    ("total", "policy", "again"),
    [(1, {}, 1), (4, {}, 1), (10, {}, 2), (40, {}, 2), (40, {"seeds_of_promotion": 3}, 6)],
)
def test_verifications_are_those_that_the_other_share_affords(
    total: int, policy: Section, again: int
) -> None:
    contract = sketch_contract(budget={"experiments": total}, policy=policy)
    assert verifications(contract) == again


def test_exploring_ends_while_the_dearest_lineage_can_still_be_verified() -> None:
    """Of ten experiments, a lineage of two keeps four for its two verifications, and one more."""
    used = [*tape.life("a"), *tape.life("b", init="a")]
    assert not allowed(*used).closing
    more = [fact for at in range(3) for fact in tape.life(f"c{at}")]
    assert not allowed(*used, *more).closing
    last = tape.life("d")
    assert allowed(*used, *more, *last).closing


def test_what_is_kept_covers_the_dearest_lineage_in_every_quantity() -> None:
    """One training of 400 seconds, and a lineage of two of 10 seconds each."""
    contract = sketch_contract()
    facts = (
        *tape.life("a", seconds=400.0),
        *tape.life("b", seconds=10.0),
        *tape.life("c", init="b", seconds=10.0),
    )
    state = State.replay(contract, tape.events(facts))
    kept, times = reserve(state, contract), verifications(contract)
    assert kept.experiments == 2 * times
    assert kept.device_seconds >= 400.0 * times


def test_exploring_ends_while_the_clock_still_covers_the_verifications() -> None:
    took = tape.life("a")
    state = State.replay(sketch_contract(), tape.events(took))
    seconds = conclusion(state, sketch_contract()) + state.experiments["a"].device_seconds()
    assert not allowed(*took, budget={"wall_seconds": seconds + 0.1}).closing
    assert allowed(*took, budget={"wall_seconds": seconds - 0.1}).closing


@pytest.mark.parametrize(
    ("seeds", "slots", "steps"),
    [(1, 1, 3), (1, 2, 3), (2, 2, 3), (2, 1, 6), (3, 2, 6)],
)
def test_the_conclusion_is_the_lineage_with_a_step_more_on_every_seed(
    seeds: int, slots: int, steps: int
) -> None:
    """Of a lineage of two equal steps, to which one is added."""
    contract = sketch_contract(policy={"seeds_of_promotion": seeds}, devices={"slots": slots})
    state = State.replay(contract, tape.events([*tape.life("a"), *tape.life("b", init="a")]))
    one = state.experiments["a"].device_seconds()
    assert state.experiments["b"].device_seconds() == one > 0
    assert conclusion(state, contract) == pytest.approx(steps * one)


@pytest.mark.parametrize(("steps", "directions"), [(0.9, 0), (1.1, 2), (1.9, 2), (2.1, 3)])
def test_no_more_directions_are_opened_than_can_take_a_step(steps: float, directions: int) -> None:
    """On two devices two steps go on at once."""
    took = tape.life("a")
    more: dict[str, Section] = {
        "devices": {"slots": 2},
        "research": {"parallel_workers": 3, "workers": 20},
    }
    state = State.replay(sketch_contract(**more), tape.events(took))
    step = state.experiments["a"].device_seconds()
    seconds = conclusion(state, sketch_contract(**more)) + steps * step
    contract = sketch_contract(budget={"wall_seconds": seconds}, **more)
    found = limits(State.replay(contract, tape.events(took)), contract, closing=False)
    assert (found.workers_now, found.closing) == (directions, directions == 0)


@pytest.mark.parametrize(("left", "more"), [(0.9, False), (1.1, True)])
def test_no_verification_is_begun_that_the_clock_would_cut_off(left: float, more: bool) -> None:
    """Once there is one to claim: before that, what can be tried is tried."""
    explored, verified = tape.life("a"), tape.life("b", purpose="verify", replicates="a")
    state = State.replay(sketch_contract(), tape.events([*explored, *verified]))
    clock = state.wall(state.at) + left * state.experiments["a"].device_seconds()
    found = allowed(*explored, *verified, budget={"wall_seconds": clock})
    assert (found.verifications > 0) is more
    first = allowed(*explored, budget={"wall_seconds": 0.1})
    assert first.verifications > 0


@pytest.mark.parametrize(
    "used",
    [Amounts(experiments=10), Amounts(evaluations=59), Amounts(device_seconds=1000)],
)
def test_without_means_for_another_experiment_it_is_time_to_close(used: Amounts) -> None:
    intent = ActionIntended(intent="i", action="experiment.submit", arguments={}, reserve=used)
    assert not allowed().closing
    assert allowed(intent).closing


def test_closing_is_handed_on() -> None:
    assert allowed(closing=True).closing
