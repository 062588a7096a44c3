"""The law that a run stayed within its contract: each cap, seed and name that is broken alone is
named, and what just keeps it is not."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from tests.unit.record import (
    ADDED,
    ADDED_PROGRAM,
    CONTRACT,
    EXPLORER,
    FINISHED,
    GOOD,
    OBJECTS,
    PROBED,
    QUEUED_A,
    QUEUED_B,
    QUEUED_C,
    QUEUED_D,
    TESTED,
    VERIFIER,
    changed,
    instead,
    settled,
    until,
)

from rsi_master.app.laws import laws
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, Source
from rsi_master.core.event import Fact
from rsi_master.core.probe import ProbeFailed
from rsi_master.core.run import ActionSettled
from rsi_master.expos.laws.policy import within_policy
from rsi_master.testing import tape
from rsi_master.testing.rig import Rig, sketch_contract


def under(**sections: Mapping[str, object]) -> Contract:
    """The contract of the good run with other values."""
    known = CONTRACT.model_dump()
    return Contract.model_validate({**known, **{n: {**known[n], **s} for n, s in sections.items()}})


def found(contract: Contract, facts: Iterable[Fact]) -> list[tuple[str, str]]:
    law = within_policy(contract)
    return [(flaw.code, flaw.where) for flaw in law(tape.events(facts))]


def at(fact: Fact, facts: tuple[Fact, ...] = GOOD) -> str:
    """Where a fact stands."""
    return f"event {facts.index(fact)}"


def test_the_good_run_is_within_its_policy() -> None:
    assert found(CONTRACT, GOOD) == []
    assert found(under(), GOOD) == []


EXACT: dict[str, Mapping[str, object]] = {
    "research": {"workers": 2, "parallel_workers": 1, "experiments_per_worker": 3},
    "policy": {"submissions": 5, "programs": 1},
}


def test_what_is_used_up_to_the_last_is_within_policy() -> None:
    assert found(under(**EXACT), GOOD) == []


CAPS: dict[str, tuple[dict[str, Mapping[str, object]], Fact]] = {
    "Workers": ({"research": {"workers": 1}}, VERIFIER),
    "experiments a Worker": ({"research": {"experiments_per_worker": 2}}, EXPLORER),
    "programs": ({"policy": {"programs": 0}}, ADDED_PROGRAM),
    "probes a Worker": ({"research": {"probes_per_worker": 0}}, PROBED),
}


@pytest.mark.parametrize("cap", CAPS)
def test_one_beyond_a_cap_is_named(cap: str) -> None:
    sections, fact = CAPS[cap]
    assert found(under(**sections), GOOD) == [("OVER_CAP", at(fact))]


@pytest.mark.parametrize("cap", range(1, 6))
def test_data_and_programs_beyond_the_submissions_are_named(cap: int) -> None:
    assert len(found(under(policy={"submissions": cap}), GOOD)) == 5 - cap


def test_a_job_of_a_program_that_failed_counts_as_a_submission() -> None:
    failed = TESTED.model_copy(update={"problem": "it crashed"})
    beside = instead(ADDED, ADDED, failed)
    assert found(under(policy={"submissions": 6}), beside) == []
    assert [code for code, _ in found(under(policy={"submissions": 5}), beside)] == ["OVER_CAP"]


def test_a_job_that_failed_when_all_submissions_were_used_by_then_breaks_nothing() -> None:
    """Of two that are out at once, the other took the last."""
    failed = TESTED.model_copy(update={"problem": "it crashed"})
    assert found(under(**EXACT), instead(FINISHED, failed, FINISHED)) == []


def test_refused_data_are_submissions_too() -> None:
    refused = DatasetRefused(source=Source(origin="sketch/clean"), offered=1, dropped={}, by="w1")
    facts = instead(FINISHED, refused, FINISHED)
    assert found(under(**EXACT), facts) == [("OVER_CAP", at(refused, facts))]


def test_workers_side_by_side_are_counted() -> None:
    facts = instead(EXPLORER, EXPLORER, tape.worker("w3"))
    limited = under(research={"parallel_workers": 1})
    assert ("OVER_CAP", at(tape.worker("w3"), facts)) in found(limited, facts)
    assert found(under(research={"parallel_workers": 3}), facts) == []


def test_a_verification_gets_what_its_lineage_takes() -> None:
    few = under(research={"experiments_per_worker": 1})
    facts = changed(EXPLORER, experiments=1)
    assert ("OVER_CAP", at(VERIFIER)) not in found(few, facts)
    more = changed(VERIFIER, experiments=3)
    more = tuple(
        EXPLORER.model_copy(update={"experiments": 1}) if f == EXPLORER else f for f in more
    )
    assert ("OVER_CAP", at(VERIFIER)) in found(few, more)


def test_an_experiment_beyond_those_of_its_worker_is_named() -> None:
    assert found(CONTRACT, changed(EXPLORER, experiments=1)) == [("OVER_CAP", at(QUEUED_B))]
    assert found(CONTRACT, changed(VERIFIER, experiments=1)) == [("OVER_CAP", at(QUEUED_D))]


def test_a_trial_that_was_given_back_is_none_of_its_workers() -> None:
    facts = changed(EXPLORER, experiments=1)
    back = tuple(tape.ended("a", trials=0) if fact == tape.ended("a") else fact for fact in facts)
    assert found(CONTRACT, back) == []


def test_attempts_beyond_the_cap_are_named() -> None:
    once = under(policy={"attempts_per_experiment": 1})
    assert found(once, GOOD) == []
    lost = (
        tape.attempted("b", ending="lost"),
        tape.planned("b", 2),
        tape.attempted("b", 2, seconds=0),
    )
    facts = instead(tape.attempted("b"), *lost)
    assert found(once, facts) == [("OVER_CAP", at(tape.planned("b", 2), facts))]
    assert found(CONTRACT, facts) == []
    stopped = tape.attempted("b", ending="interrupted")
    assert found(once, instead(tape.attempted("b"), stopped, *lost[1:])) == []


@pytest.mark.parametrize("fact", [QUEUED_A, QUEUED_B, QUEUED_C, QUEUED_D])
@pytest.mark.parametrize("seed", [3, 1010])
def test_a_seed_that_the_contract_does_not_give_is_named(fact: Fact, seed: int) -> None:
    assert found(CONTRACT, changed(fact, seed=seed)) == [("SEED", at(fact))]


def test_an_exploration_has_no_fresh_seed_and_a_verification_no_old_one() -> None:
    assert found(CONTRACT, changed(QUEUED_A, seed=1009)) == [("SEED", at(QUEUED_A))]
    assert found(CONTRACT, changed(QUEUED_D, seed=0)) == [("SEED", at(QUEUED_D))]


def test_a_verification_has_the_fresh_seed_that_its_worker_was_created_for() -> None:
    several = under(policy={"seeds_of_promotion": 2})
    assert found(several, changed(QUEUED_D, seed=1010)) == [("SEED", at(QUEUED_D))]
    second = changed(VERIFIER, promotion=1)
    assert found(several, second) == [("SEED", at(QUEUED_C)), ("SEED", at(QUEUED_D))]
    assert {code for code, _ in found(CONTRACT, second)} == {"SEED"}


def test_a_source_that_the_contract_does_not_name_is_named() -> None:
    assert found(under(policy={"sources": ["sketch/scraped"]}), GOOD) == [
        ("NOT_IN_CONTRACT", at(ADDED))
    ]
    refused = DatasetRefused(source=Source(origin="other"), offered=1, dropped={}, by="w1")
    facts = instead(FINISHED, refused, FINISHED)
    assert found(CONTRACT, facts) == [("NOT_IN_CONTRACT", at(refused, facts))]


@pytest.mark.parametrize("recipe", [{"name": "dpo"}, {"name": "merge"}, {}, {"name": 7}])
def test_a_recipe_that_the_contract_does_not_name_is_named(recipe: dict[str, object]) -> None:
    facts = changed(QUEUED_B, recipe=recipe)
    assert found(CONTRACT, facts) == [("NOT_IN_CONTRACT", at(QUEUED_B))]


def test_a_direction_is_about_a_recipe_of_the_contract() -> None:
    facts = changed(EXPLORER, recipe="dpo")
    assert found(CONTRACT, facts) == [("NOT_IN_CONTRACT", at(EXPLORER))]
    assert found(CONTRACT, changed(EXPLORER, recipe="sketch")) == []


def test_merging_needs_the_contracts_leave() -> None:
    merged = changed(QUEUED_B, recipe={"name": "merge"}, merges=("a",), data=())
    assert found(CONTRACT, merged) == [("NOT_IN_CONTRACT", at(QUEUED_B))]
    assert found(under(policy={"merging": True}), merged) == []
    disguised = changed(QUEUED_B, merges=("a",))
    assert found(CONTRACT, disguised) == [("NOT_IN_CONTRACT", at(QUEUED_B))]


def test_a_probe_too_many_that_its_action_was_refused_for_breaks_nothing() -> None:
    """Of two that are out at once, the other took the last: what this one used is recorded."""
    late = ProbeFailed(
        intent="q", worker="w1", experiment="a", window=PROBED.window, reason="gone", seconds=0.0
    )
    refused = ActionSettled(intent="q", outcome="failed", code="PROBES", message="all are used")
    assert found(CONTRACT, (*GOOD, late, refused)) == []
    assert found(CONTRACT, (*GOOD, late, settled("q"))) == [("OVER_CAP", f"event {len(GOOD)}")]
    assert found(CONTRACT, (*GOOD, late)) == []


def test_a_record_that_names_a_node_it_never_created_is_judged_up_to_there() -> None:
    facts = (*until(ADDED), tape.finalised("w9"), *changed(EXPLORER, recipe="dpo"))
    for law in laws(OBJECTS, CONTRACT):
        law(tape.events(facts))
    assert found(CONTRACT, facts) == []


def test_a_run_on_fakes_is_within_its_policy(tmp_path: Path) -> None:
    contract = sketch_contract(policy={"seeds_of_promotion": 2})
    rig = Rig(tmp_path, contract)
    try:
        rig.score_base()
        data = rig.add()
        node = rig.open_worker(data)
        last = rig.train(node, data, rig.train(node, data))
        rig.finalise(node, last)
        one, _ = rig.verified(last)
        rig.verified(last, 1, one)
        for law in laws(rig.objects, contract):
            assert list(law(rig.events())) == []
    finally:
        rig.close()
