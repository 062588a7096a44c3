"""Laws over a record: each broken by hand gives its flaw, and a good record gives none."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.record import (
    ADDED,
    ADDED_PROGRAM,
    BOUGHT,
    CONTRACT,
    DATA,
    DERIVED,
    EXPLORER,
    FINISHED,
    GOOD,
    INTENDED,
    MADE,
    MIXED,
    OBJECTS,
    OPENED,
    PAID,
    PROBED,
    PROGRAM,
    QUEUED_A,
    QUEUED_B,
    QUEUED_C,
    QUEUED_D,
    RAN,
    SCORED,
    SETTLED,
    VERIFIER,
    WROTE,
    acted,
    changed,
    instead,
    intended,
    lived,
    planned,
    settled,
    until,
    without,
)

from rsi_master.app.laws import concluded, laws
from rsi_master.core.action import Amounts
from rsi_master.core.artifact import Artifact
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, Sampled, Source
from rsi_master.core.event import Event, Fact
from rsi_master.core.run import ClaimFailed, StopAsked
from rsi_master.domains.data.samples import NAME
from rsi_master.expos.books import CHECKS
from rsi_master.expos.laws.data import SAMPLER
from rsi_master.testing import tape
from rsi_master.testing.rig import Rig, sketch_contract

LAWS = laws(OBJECTS, CONTRACT)


def flaws(facts: Sequence[Fact]) -> list[str]:
    return flaws_of(tape.events(facts))


def flaws_of(events: Sequence[Event]) -> list[str]:
    return [flaw.code for check in LAWS for flaw in check(events)]


def test_a_good_record_has_no_flaw() -> None:
    assert flaws(GOOD) == []


def test_a_record_under_way_has_no_flaw_at_any_moment() -> None:
    for count in range(len(GOOD)):
        assert flaws(GOOD[:count]) == [], GOOD[count]


def test_a_run_on_fakes_has_no_flaw(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    try:
        rig.score_base()
        _, name = rig.explored(rig.add())
        _, again = rig.verified(name)
        rig.main().act("champion.claim", experiment=again)
        rig.settle()
        rig.main().act("run.finish", reason="done")
        for law in laws(rig.objects, rig.contract):
            assert list(law(rig.events())) == []
    finally:
        rig.close()


def test_the_job_that_draws_answers_is_called_as_the_law_says() -> None:
    assert SAMPLER == NAME


PLANNED_B, END_B = planned(QUEUED_B), tape.ended("b")
JUDGE = ADDED_PROGRAM.model_copy(update={"kind": "verifier"})
JUDGED = QUEUED_B.model_copy(update={"recipe": {"name": "sketch", "reward": PROGRAM}})
FLAGGED_A = tape.integrity("a", "flagged")
OTHER = tape.digest("x")
REFUSED = DatasetRefused(source=WROTE.source, offered=1, dropped={"SEALED": 1}, by="w1")


def later(name: str, init: str) -> tuple[Fact, ...]:
    """One more experiment of w1, on the mixed data."""
    return lived(tape.queued(name, init=init, data=(MIXED,)), 0.5)


def before(fact: Fact, *others: Fact) -> tuple[Fact, ...]:
    return instead(fact, *others, fact)


def claimed(**fields: object) -> tuple[Fact, ...]:
    result = SCORED.result.model_copy(update=fields)
    return changed(SCORED, result=result)


def sampled(of: Sampled) -> tuple[Fact, ...]:
    return changed(WROTE, source=WROTE.source.model_copy(update={"sampled": of}))


BROKEN: dict[str, tuple[tuple[Fact, ...], str]] = {
    "an outcome without an intent": (without(INTENDED), "OUTCOME_WITHOUT_INTENT"),
    "an outcome twice": (instead(SETTLED, SETTLED, SETTLED), "OUTCOME_WITHOUT_INTENT"),
    "an intent that is never settled": (without(SETTLED), "INTENT_OPEN"),
    "a fence that skips": (changed(PLANNED_B, fence=2), "FENCE"),
    "a fence that stands still": (
        instead(
            tape.attempted("b"),
            tape.attempted("b", ending="lost"),
            PLANNED_B,
            tape.attempted("b", seconds=0),
        ),
        "FENCE",
    ),
    "two attempts at once": (instead(PLANNED_B, PLANNED_B, tape.planned("b", 2)), "ATTEMPT_TWICE"),
    "an end without a beginning": (without(PLANNED_B), "ATTEMPT_END"),
    "an attempt that ends twice": (
        instead(tape.attempted("b"), tape.attempted("b"), tape.attempted("b", seconds=0)),
        "ATTEMPT_END",
    ),
    "an attempt that never ends": (
        instead(END_B, tape.planned("b", 2, "evaluate"), END_B),
        "ATTEMPT_OPEN",
    ),
    "an experiment queued twice": (instead(QUEUED_A, QUEUED_A, QUEUED_A), "EXPERIMENT_TWICE"),
    "an experiment that ends twice": (instead(END_B, END_B, END_B), "EXPERIMENT_TWICE"),
    "an experiment that never ends": (without(END_B), "EXPERIMENT_OPEN"),
    "an end of an unknown experiment": (
        before(FINISHED, tape.ended("z", seconds=0.0)),
        "EXPERIMENT_UNKNOWN",
    ),
    "device time that nobody used": (instead(END_B, tape.ended("b", seconds=2.5)), "BOOKS"),
    "device time that is not counted": (instead(END_B, tape.ended("b", seconds=1.5)), "BOOKS"),
    "a Worker created twice": (before(VERIFIER, EXPLORER), "NODE_TWICE"),
    "a Worker that ends before it is created": (without(VERIFIER), "NODE_UNKNOWN"),
    "an experiment of nobody": (without(EXPLORER), "NODE_UNKNOWN"),
    "an experiment of a Worker that comes later": (changed(QUEUED_B, worker="w2"), "NODE_UNKNOWN"),
    "a verification by an explorer": (changed(QUEUED_D, worker="w1"), "PURPOSE"),
    "an exploration that repeats something": (changed(QUEUED_B, replicates="a"), "PURPOSE"),
    "a verification of nothing": (changed(QUEUED_D, replicates=None), "PURPOSE"),
    "a verification of another recipe": (changed(QUEUED_D, effective=OTHER), "PURPOSE"),
    "a verification that names another one": (changed(QUEUED_D, replicates="a"), "PURPOSE"),
    "a start from nowhere": (without(tape.integrity("a")), "LINEAGE"),
    "a start from a flagged one": (
        instead(tape.integrity("a"), tape.integrity("a"), FLAGGED_A),
        "LINEAGE",
    ),
    "a flag that is taken back": (
        instead(tape.integrity("a"), FLAGGED_A, tape.integrity("a")),
        "LINEAGE",
    ),
    "a start above a flagged one": ((*until(END_B), FLAGGED_A, *later("z", "b")), "LINEAGE"),
    "a claim above a flagged one": (before(OPENED, tape.integrity("c", "flagged")), "LINEAGE"),
    "a claim that repeats a flagged one": (
        before(OPENED, tape.integrity("b", "flagged")),
        "LINEAGE",
    ),
    "a start from what repeats a flagged one": (before(QUEUED_D, FLAGGED_A), "LINEAGE"),
    "other weights scored": (
        changed(tape.evaluated("b", 0.5), weights=tape.digest("weights a")),
        "WEIGHTS_DIFFER",
    ),
    "other weights claimed": (claimed(weights=OTHER), "WEIGHTS_DIFFER"),
    "the holdout opened twice": (instead(OPENED, OPENED, OPENED), "CLAIM_TWICE"),
    "the holdout scored twice": (instead(SCORED, SCORED, SCORED), "CLAIM_TWICE"),
    "a result without an opening": (without(OPENED), "CLAIM_UNOPENED"),
    "a result of another checkpoint": (changed(SCORED, experiment="b"), "CLAIM_UNOPENED"),
    "a failure of another opening": (
        before(
            FINISHED, ClaimFailed(experiment="d", name="claim-z", reason="gone", spent=Amounts())
        ),
        "CLAIM_UNOPENED",
    ),
    "a claim of an exploration": (changed(OPENED, experiment="b"), "CLAIM_UNVERIFIED"),
    "a claim by a Worker that explores": (
        changed(VERIFIER, purpose="explore"),
        "CLAIM_UNVERIFIED",
    ),
    "a claim of what is unknown": (changed(OPENED, experiment="z"), "CLAIM_UNVERIFIED"),
    "a claim of what has no score": (without(tape.evaluated("d", 0.5)), "CLAIM_UNVERIFIED"),
    "a claim of what has no score on confirm": (
        changed(tape.evaluated("d", 0.5), scores=(tape.scored("confirm", None),)),
        "CLAIM_UNVERIFIED",
    ),
    "a claim of what ranks second": (changed(OPENED, experiment="c"), "CLAIM_UNVERIFIED"),
    "a claim of another fresh seed": (changed(QUEUED_D, seed=1010), "CLAIM_UNVERIFIED"),
    "a claim of what failed": (
        changed(tape.ended("d"), lifecycle="failed"),
        "CLAIM_UNVERIFIED",
    ),
    "a champion without a gain": (
        claimed(
            difference=SCORED.result.difference
            and SCORED.result.difference.model_copy(update={"low": 0.0})
        ),
        "CHAMPION",
    ),
    "a champion without a score": (claimed(difference=None), "CHAMPION"),
    "a champion without a result": (without(SCORED), "CHAMPION"),
    "a champion that is flagged after all": (
        before(FINISHED, tape.integrity("d", "flagged")),
        "CHAMPION",
    ),
    "another champion than the claimed one": (changed(FINISHED, champion="c"), "CHAMPION"),
    "a gain without a champion": (
        changed(FINISHED, outcome="no_champion", champion=None),
        "CHAMPION",
    ),
    "a champion of a run that was stopped": (changed(FINISHED, outcome="stopped"), "CHAMPION"),
    "a stop that nobody asked for": (
        changed(FINISHED, outcome="stopped", champion=None),
        "CHAMPION",
    ),
    "a clock that was not over": (changed(FINISHED, outcome="budget", champion=None), "CHAMPION"),
    "an end that nobody asked for": (
        tuple(fact for fact in GOOD if fact.type != "run.finish_asked"),
        "CHAMPION",
    ),
    "a probe that is paid with less": (changed(PAID, spent=Amounts(device_seconds=1.0)), "BOOKS"),
    "a probe that is paid with less, by an action that failed": (
        changed(PAID, outcome="failed", spent=Amounts(device_seconds=1)),
        "BOOKS",
    ),
    "a probe that is never paid": (without(PAID), "BOOKS"),
    "an action that spends without a probe": (without(PROBED), "BOOKS"),
    "weights probed that are not those trained": (changed(PROBED, weights=OTHER), "WEIGHTS_DIFFER"),
    "a job that is paid with less": (changed(BOUGHT, spent=Amounts(device_seconds=1.0)), "BOOKS"),
    "data of other weights than those trained": (
        sampled(Sampled(experiment="a", weights=OTHER)),
        "WEIGHTS_DIFFER",
    ),
    "a training on data that nobody registered": (without(ADDED), "DATA_UNKNOWN"),
    "demonstrations that nobody registered": (
        changed(QUEUED_B, data=(MIXED, OTHER)),
        "DATA_UNKNOWN",
    ),
    "data made of data that came later": (
        before(DERIVED, ADDED.model_copy(update={"source": Source(origin="z", parents=(OTHER,))})),
        "DATA_UNKNOWN",
    ),
    "data refused that were made of nothing known": (
        before(
            FINISHED,
            REFUSED.model_copy(update={"source": Source(origin="z", parents=(OTHER,))}),
        ),
        "DATA_UNKNOWN",
    ),
    "a Worker that starts from unknown data": (changed(EXPLORER, data=(OTHER,)), "DATA_UNKNOWN"),
    "data of own answers without a job": (without(MADE), "JOB_MISSING"),
    "refused data of own answers without a job": (before(FINISHED, REFUSED), "JOB_MISSING"),
    "data of a job that failed": (changed(MADE, problem="it crashed"), "JOB_MISSING"),
    "data of the job of another action": (
        instead(WROTE, BOUGHT, intended("z", "data.sample"), WROTE, settled("z")),
        "JOB_MISSING",
    ),
    "data of a job that names another action": (changed(MADE, intent="z"), "JOB_MISSING"),
    "answers that a program's job drew": (changed(MADE, program="code"), "JOB_MISSING"),
    "rows of a program that a sampling made": (changed(RAN, program=NAME), "JOB_MISSING"),
    "a program that was not tested": (
        tuple(fact for fact in GOOD if getattr(fact, "intent", "") != "t"),
        "JOB_MISSING",
    ),
    "a job on other data": (
        changed(WROTE, source=WROTE.source.model_copy(update={"parents": ()})),
        "JOB_DIFFERS",
    ),
    "a job of another checkpoint": (
        sampled(Sampled(experiment="base", weights=tape.digest("weights base"))),
        "JOB_DIFFERS",
    ),
    "a job of another program": (changed(RAN, spec=MADE.spec), "JOB_DIFFERS"),
    "a test of another program": (
        changed(ADDED_PROGRAM, artifact=Artifact(digest=OTHER, kind="program", size=1)),
        "JOB_DIFFERS",
    ),
    "a job whose specification is none": (
        changed(MADE, spec=OBJECTS.put_bytes("job", b"[]")),
        "JOB_DIFFERS",
    ),
    "a training on other data than its job's": (changed(QUEUED_B, data=(DATA,)), "JOB_DIFFERS"),
    "a training from another checkpoint": (changed(QUEUED_B, init="base"), "JOB_DIFFERS"),
    "a training by another recipe": (
        changed(QUEUED_B, recipe={"name": "sketch", "steps": 9}),
        "JOB_DIFFERS",
    ),
    "a training under another seed": (changed(QUEUED_D, seed=1010), "JOB_DIFFERS"),
    "a training by the job of another one": (
        changed(PLANNED_B, spec=planned(QUEUED_A).spec),
        "JOB_DIFFERS",
    ),
    "a training that nothing judged": (
        instead(PLANNED_B, planned(JUDGED)),
        "JOB_DIFFERS",
    ),
    "two sets of data of one job": (
        instead(WROTE, WROTE, WROTE.model_copy(update={"artifact": DERIVED.artifact})),
        "JOB_MISSING",
    ),
    "rows made by a program of another kind": (
        changed(ADDED_PROGRAM, kind="verifier"),
        "PROGRAM_KIND",
    ),
    "rows made by an unknown program": (without(ADDED_PROGRAM), "PROGRAM_UNKNOWN"),
    "a training judged by a transform": (instead(QUEUED_B, JUDGED), "PROGRAM_KIND"),
    "data of a flagged one": (before(WROTE, FLAGGED_A), "LINEAGE"),
    "a training on data of a flagged one": (
        (*until(DERIVED), settled("x"), FLAGGED_A, *later("z", "base")),
        "LINEAGE",
    ),
    "a claim above what wrote its data": (before(OPENED, FLAGGED_A), "LINEAGE"),
    "work after the end": ((*GOOD, tape.worker("w3")), "AFTER_END"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_law_is_named(what: str) -> None:
    facts, code = BROKEN[what]
    assert code in flaws(facts)


@pytest.mark.parametrize("what", BROKEN)
def test_a_flaw_says_where_and_what(what: str) -> None:
    for check in LAWS:
        for flaw in check(tape.events(BROKEN[what][0])):
            assert flaw.where and flaw.what


def test_turns_and_outcomes_may_come_in_after_the_end() -> None:
    late = (tape.turned("o", "w1"), intended("z", "data.add"), settled("z"))
    assert flaws((*GOOD, *late)) == []


@pytest.mark.parametrize(
    ("outcome", "asked", "contract"),
    [
        ("stopped", StopAsked(reason="enough"), CONTRACT),
        ("budget", tape.turned("o", "w2"), sketch_contract(budget={"wall_seconds": 1})),
    ],
)
def test_a_run_may_be_stopped_or_come_to_the_end_of_its_clock(
    outcome: str, asked: Fact, contract: Contract
) -> None:
    end = FINISHED.model_copy(update={"outcome": outcome, "champion": None})
    assert list(concluded(contract)(tape.events(instead(FINISHED, asked, end)))) == []


def test_a_claim_that_shows_no_gain_ends_without_a_champion() -> None:
    end = FINISHED.model_copy(update={"outcome": "no_champion", "champion": None})
    failed = ClaimFailed(experiment="d", name="claim-o", reason="gone", spent=Amounts())
    facts = tuple(failed if one == SCORED else end if one == FINISHED else one for one in GOOD)
    assert flaws(facts) == []


def test_an_action_that_made_nothing_lets_go_of_its_job() -> None:
    failed = MADE.model_copy(update={"intent": "z", "problem": "it crashed", "seconds": 0.0})
    assert flaws(before(intended("m", "data.sample"), *acted("z", "data.sample", failed))) == []


def test_a_verification_may_name_the_whole_that_its_worker_repeats() -> None:
    assert flaws(changed(QUEUED_C, replicates="b")) == []


def test_a_loop_of_repetitions_is_judged_to_its_end() -> None:
    assert "PURPOSE" in flaws(changed(QUEUED_C, replicates="d"))
    assert "LINEAGE" in flaws(changed(QUEUED_D, replicates="d", init="d"))


def test_without_a_readable_contract_the_laws_that_need_none_are_left() -> None:
    assert set(CHECKS) < set(laws(OBJECTS, None))
    assert len(laws(OBJECTS, None)) < len(LAWS)


def test_a_specification_that_is_gone_is_passed_over() -> None:
    gone = Artifact(digest=tape.digest("gone"), kind="job", size=1)
    assert flaws(changed(MADE, spec=gone)) == []
