"""The rule for the next step of an experiment, from its recorded attempts alone."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.event import Fact
from rsi_master.core.experiment import BASE, CancelAsked, Experiment, Stage
from rsi_master.core.job import Ending
from rsi_master.core.state import State
from rsi_master.expos.attempts import INFRASTRUCTURE, Begin, Close, Poll, next_step
from rsi_master.testing import tape
from rsi_master.testing.rig import sketch_contract

TRIES = 3
OWN_FAULTS = sorted(set(get_args(Ending)) - INFRASTRUCTURE - {"ok"})


def after(*facts: Fact, name: str = "a") -> Experiment:
    state = State.replay(sketch_contract(), tape.events(facts))
    return state.experiments[name]


def trained(*facts: Fact) -> Experiment:
    return after(*tape.life("a")[:5], *facts)


def test_a_queued_experiment_begins_under_the_first_fence() -> None:
    assert next_step(after(tape.queued("a")), TRIES) == Begin("train", 1)
    assert Begin("train", 1).job("a") == "a.t1"


def test_a_running_attempt_is_asked_about() -> None:
    step = next_step(after(tape.queued("a"), tape.planned("a")), TRIES)
    assert isinstance(step, Poll)
    assert step.attempt.planned == tape.planned("a")


def test_a_trained_one_is_evaluated_and_a_scored_one_finishes() -> None:
    assert next_step(trained(), TRIES) == Begin("evaluate", 1)
    scored = trained(
        tape.planned("a", stage="evaluate"),
        tape.attempted("a", stage="evaluate"),
        tape.evaluated("a"),
    )
    assert next_step(scored, TRIES) == Close("finished", "OK", "", refund=False)
    assert next_step(after(*tape.life("a")), TRIES) is None


def test_the_base_is_evaluated_without_a_training() -> None:
    base = after(
        tape.planned(BASE, stage="evaluate"),
        tape.attempted(BASE, stage="evaluate", ending="lost"),
        name=BASE,
    )
    assert next_step(base, TRIES) == Begin("evaluate", 2)


@pytest.mark.parametrize("ending", OWN_FAULTS)
def test_a_training_that_failed_by_itself_is_a_result_and_not_retried(ending: Ending) -> None:
    experiment = after(tape.queued("a"), tape.planned("a"), tape.attempted("a", ending=ending))
    step = next_step(experiment, TRIES)
    assert isinstance(step, Close)
    assert (step.lifecycle, step.reason, step.refund) == ("failed", ending.upper(), False)


@pytest.mark.parametrize("stage", get_args(Stage))
@given(endings=st.lists(st.sampled_from(sorted(INFRASTRUCTURE)), min_size=1, max_size=8))
def test_infrastructure_is_retried_under_a_higher_fence_within_bounds(
    stage: Stage, endings: list[Ending]
) -> None:
    facts: list[Fact] = list(tape.life("a")[: 1 if stage == "train" else 5])
    for fence, ending in enumerate(endings, 1):
        facts += [
            tape.planned("a", fence, stage),
            tape.attempted("a", fence, stage, ending),
        ]
    step = next_step(after(*facts), TRIES)
    failed = sum(ending != "interrupted" for ending in endings)
    if failed < TRIES:
        assert step == Begin(stage, len(endings) + 1)
    elif isinstance(step, Close):
        assert (step.reason, step.refund) == ("INFRASTRUCTURE", True)
        assert f"failed {failed} times" in step.detail
    else:
        assert endings[-1] == "interrupted"


def test_a_cancelled_one_ends_when_nothing_of_it_runs() -> None:
    asked = CancelAsked(experiment="a", by="w1")
    running = after(tape.queued("a"), tape.planned("a"), asked)
    assert isinstance(next_step(running, TRIES), Poll)
    ended = after(tape.queued("a"), tape.planned("a"), asked, tape.attempted("a", ending="killed"))
    step = next_step(ended, TRIES)
    assert isinstance(step, Close)
    assert (step.lifecycle, step.refund) == ("cancelled", False)
