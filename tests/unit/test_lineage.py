"""Lineage and taint: what may be continued, selected and claimed."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from rsi_master.core.artifact import Artifact
from rsi_master.core.dataset import DatasetRegistered, Sampled, Source
from rsi_master.core.errors import PolicyDenied
from rsi_master.core.event import Fact
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.lineage import ancestors, origins, teachers, writers
from rsi_master.core.state import State
from rsi_master.domains.planning.actions import PlacesView
from rsi_master.domains.planning.ranking import rank
from rsi_master.domains.planning.workers import Assignment
from rsi_master.expos.lineage import (
    refusal_of_data,
    refusal_to_continue,
    selectable,
    taint,
    trainings,
)
from rsi_master.testing import tape
from rsi_master.testing.rig import Rig, sketch_contract

CHAIN = (*tape.life("a"), *tape.life("b", init="a"), *tape.life("c", init="b"), *tape.life("d"))


def state(*more: Fact) -> State:
    facts = (tape.worker("w1"), *CHAIN, *more)
    return State.replay(sketch_contract(), tape.events(facts))


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    rig.score_base()
    yield rig
    rig.close()


def flag(rig: Rig, name: str) -> None:
    rig.operator().act("audit.flag", experiment=name, category="test_access", reason="it looked")


def claimables(rig: Rig) -> list[str]:
    places = cast(PlacesView, rig.main().act("candidates.read")).candidates
    return [place.claimable for place in places if place.claimable is not None]


def test_ancestors_are_told_nearest_first_down_to_the_base() -> None:
    assert ancestors(state(), "c") == ("b", "a", "base")
    assert ancestors(state(), "base") == ()


def test_a_merge_has_the_ancestors_of_all_its_parts_each_once_before_what_they_continue() -> None:
    merged = state(*tape.life("m", init="c", merges=("d", "b")))
    found = ancestors(merged, "m")
    assert sorted(found) == ["a", "b", "base", "c", "d"]
    assert [name for name in found if name in "abc"] == ["c", "b", "a"]
    assert found[-1] == "base"


def test_a_record_in_which_a_lineage_bites_its_tail_is_read_to_its_end() -> None:
    looped = state(*tape.life("x", init="y"), *tape.life("y", init="x"))
    assert set(ancestors(looped, "x")) == {"y"}


@pytest.mark.parametrize("flagged", ["a", "b", "d"])
def test_a_merge_is_tainted_by_a_flag_in_any_of_its_parts(flagged: str) -> None:
    merged = state(*tape.life("m", init="c", merges=("d",)), tape.integrity(flagged, "flagged"))
    assert taint(merged, "m") is not None


def test_a_flag_taints_everything_above_it_and_nothing_beside_or_below() -> None:
    flagged = state(tape.integrity("b", "flagged"))
    assert {name: taint(flagged, name) for name in "abcd"} == {
        "a": None,
        "b": "b",
        "c": "b",
        "d": None,
    }
    able = [name for name in "abcd" if selectable(flagged, flagged.experiments[name])]
    assert able == ["a", "d"]


def test_a_flag_taints_the_verification_of_the_same_recipe() -> None:
    verified = state(
        *tape.life("v", "w2", replicates="d", purpose="verify"), tape.integrity("d", "flagged")
    )
    assert taint(verified, "v") == "d"


def sampled(name: str, *parents: str, by: str | None = None) -> DatasetRegistered:
    """A dataset made of others, or of answers of an experiment."""
    wrote = Sampled(experiment=by, weights=tape.digest(f"weights {by}")) if by else None
    return DatasetRegistered(
        artifact=Artifact(digest=tape.digest(name), kind="dataset", size=1),
        source=Source(origin=name, parents=tuple(map(tape.digest, parents)), sampled=wrote),
        holds="rows",
        rows=1,
        offered=1,
        dropped={},
        completion_chars=1,
        prompt_chars=1,
        by="w1",
    )


def test_data_that_a_checkpoint_wrote_leads_back_to_it_through_mixtures() -> None:
    known = state(
        sampled("prompts"),
        sampled("of b", "prompts", by="b"),
        sampled("of base", "of b", by="base"),
        sampled("mixed", "prompts", "of base"),
        *tape.life("e", data=(tape.digest("mixed"),)),
        *tape.life("f", init="e", data=(tape.digest("prompts"),)),
        tape.integrity("a", "flagged"),
    )
    assert writers(known, [tape.digest("prompts")]) == ()
    assert set(teachers(known, "e")) == {"b", "base"}
    assert ancestors(known, "f") == ("e", "base")
    assert set(ancestors(known, "f", origins)) == {"e", "b", "a", "base"}
    assert [taint(known, name) for name in ("e", "f", "d")] == ["a", "a", None]
    assert "tainted by the flagged experiment a" in str(
        refusal_of_data(known, [tape.digest("mixed")])
    )
    assert refusal_of_data(known, [tape.digest("prompts")]) is None
    assert trainings(known, ["f"]) == {"f", "e"}


@pytest.mark.parametrize("missing", range(5, 9))
def test_only_a_whole_life_is_selectable(missing: int) -> None:
    part = State.replay(sketch_contract(), tape.events(tape.life("a")[:missing]))
    assert not selectable(part, part.experiments["a"])


def test_an_accepted_checkpoint_is_continued_by_its_worker_alone() -> None:
    known = state()
    assert refusal_to_continue(known, "w1", "c") is None
    assert refusal_to_continue(known, "w2", "base") is None
    assert "no predecessor of w2" in str(refusal_to_continue(known, "w2", "c"))
    assert "no experiment of this run" in str(refusal_to_continue(known, "w1", "elsewhere"))


def test_what_has_no_accepted_checkpoint_is_not_continued() -> None:
    failed = state(tape.queued("e"), tape.ended("e", "failed"))
    assert "no accepted checkpoint" in str(refusal_to_continue(failed, "w1", "e"))


def test_a_siblings_checkpoint_is_denied_and_a_predecessors_allowed(rig: Rig) -> None:
    data = rig.add()
    first, name = rig.explored(data)
    sibling = rig.open_worker(data)
    with pytest.raises(PolicyDenied) as denied:
        rig.submit(sibling, data, init=name)
    assert denied.value.code == "LINEAGE"
    heir = rig.open_worker(data, predecessors=(first,))
    again = rig.train(heir, data, init=name, steps=2)
    assert rig.state.experiments[again].integrity == "accepted"
    assert ancestors(rig.state, again) == (name, "base")


def test_what_continues_a_flagged_one_is_neither_continued_nor_verified(rig: Rig) -> None:
    data = rig.add()
    node = rig.open_worker(data)
    parent = rig.train(node, data, steps=1)
    child = rig.train(node, data, init=parent, steps=2)
    flag(rig, parent)
    with pytest.raises(PolicyDenied, match="tainted by the flagged experiment"):
        rig.submit(node, data, init=child, steps=3)
    rig.finalise(node, child)
    with pytest.raises(PolicyDenied, match="tainted"):
        rig.verified(child)


def continued(rig: Rig) -> tuple[str, str, str]:
    """The data, an experiment on the base, and one of another Worker that continues it."""
    data = rig.add()
    first, parent = rig.explored(data, steps=1)
    heir = rig.open_worker(data, predecessors=(first,))
    child = rig.train(heir, data, init=parent, steps=2)
    rig.finalise(heir, child)
    return data, parent, child


def test_a_verification_trains_the_whole_lineage_under_the_fresh_seed(rig: Rig) -> None:
    _, parent, child = continued(rig)
    node, again = rig.verified(child)
    first, last = (e.queued for e in rig.state.owned(node))
    assert first is not None
    assert last is not None
    assert (last.experiment, last.init, first.init) == (again, first.experiment, "base")
    assert {first.seed, last.seed} == {rig.contract.policy.seed_of_promotion}
    originals = [rig.state.experiments[name].queued for name in (parent, child)]
    assert [one.effective for one in (first, last)] == [q.effective for q in originals if q]
    assert [one.replicates for one in (first, last)] == [parent, child]
    assert claimables(rig) == [last.experiment, first.experiment]


@pytest.mark.parametrize(("flagged", "tainted"), [(0, [True, True]), (1, [False, True])])
def test_a_flag_taints_of_a_verification_what_repeats_it_and_what_goes_back_to_that(
    rig: Rig, flagged: int, tainted: list[bool]
) -> None:
    _, *originals = continued(rig)
    node, _ = rig.verified(originals[1])
    flag(rig, originals[flagged])
    found = [taint(rig.state, one.id) for one in rig.state.owned(node)]
    assert [one is not None for one in found] == tainted


def siblings(rig: Rig) -> tuple[str, str]:
    """Two experiments of two Workers that continue the same one."""
    data, parent, child = continued(rig)
    node = rig.open_worker(data, predecessors=(rig.state.experiments[parent].worker(),))
    other = rig.train(node, data, init=parent, steps=3)
    rig.finalise(node, other)
    return child, other


def test_verifications_train_what_they_have_in_common_once_under_each_seed(tmp_path: Path) -> None:
    policy = {"sources": ["sketch/clean"], "seeds_of_promotion": 2}
    rig = Rig(tmp_path, sketch_contract(policy=policy))
    rig.score_base()
    one, other = siblings(rig)
    first, _ = rig.verified(one)
    shared = next(e.id for e in rig.state.owned(first))
    second, last = rig.verified(other, 0, first)
    (only,) = (e.queued for e in rig.state.owned(second))
    assert only is not None
    assert (only.experiment, only.init) == (last, shared)
    created = rig.state.graph.nodes[second].created
    assert isinstance(created, WorkerCreated)
    assert created.experiments == 1
    third, _ = rig.verified(other, 1, first, second)
    assert len(rig.state.owned(third)) == 2, "under another seed all is trained anew"
    rig.close()


def test_what_was_flagged_is_not_taken_from_another_verification(rig: Rig) -> None:
    one, other = siblings(rig)
    first, _ = rig.verified(one)
    shared = next(e.id for e in rig.state.owned(first))
    node = rig.open_worker(purpose="verify", replicates=other, predecessors=(first,))
    assert repeated(rig, node) == [shared, None]
    flag(rig, shared)
    assert repeated(rig, node) == [None, None]


def repeated(rig: Rig, node: str) -> list[str | None]:
    task = cast(Assignment, rig.worker(node).act("worker.current"))
    return [step.again for step in task.lineage]


def test_a_verification_never_continues_what_was_explored(rig: Rig) -> None:
    data, parent, child = continued(rig)
    owners = [rig.state.experiments[name].worker() for name in (parent, child)]
    node = rig.open_worker(purpose="verify", replicates=child, predecessors=tuple(owners))
    with pytest.raises(PolicyDenied, match="under its own seed") as denied:
        rig.submit(node, data, init=parent, steps=2)
    assert denied.value.code == "LINEAGE"


def test_a_verification_trains_each_step_of_its_lineage_once_and_no_other(rig: Rig) -> None:
    data, _, child = continued(rig)
    node = rig.open_worker(purpose="verify", replicates=child)
    with pytest.raises(PolicyDenied, match="trains the lineage of"):
        rig.submit(node, data, steps=3)
    rig.train(node, data, steps=1)
    with pytest.raises(PolicyDenied, match="repeats"):
        rig.submit(node, data, steps=1)


def test_an_exploration_leaves_enough_to_train_its_lineage_again(tmp_path: Path) -> None:
    """The third of a lineage needs itself and three more, and of five two are spent."""
    rig = Rig(tmp_path, sketch_contract(budget={"experiments": 5}))
    rig.score_base()
    data = rig.add()
    node = rig.open_worker(data)
    first = rig.train(node, data, steps=1)
    second = rig.train(node, data, init=first, steps=1)
    with pytest.raises(PolicyDenied, match="would not cover its verification") as denied:
        rig.submit(node, data, init=second, steps=1)
    assert denied.value.code == "VERIFICATION"
    rig.train(node, data, steps=2)
    rig.close()


def test_what_a_submission_holds_itself_is_not_counted_against_it(tmp_path: Path) -> None:
    """The third of a lineage needs itself and three more, and of six two are spent."""
    rig = Rig(tmp_path, sketch_contract(budget={"experiments": 6}))
    rig.score_base()
    data = rig.add()
    node = rig.open_worker(data)
    first = rig.train(node, data, steps=1)
    second = rig.train(node, data, init=first, steps=1)
    rig.train(node, data, init=second, steps=1)
    assert rig.state.books.left().experiments == 3
    rig.close()


def test_each_fresh_seed_is_used_once_and_the_first_makes_what_is_claimed(tmp_path: Path) -> None:
    rig = Rig(tmp_path, sketch_contract(policy={"seeds_of_promotion": 2}))
    rig.score_base()
    _, name = rig.explored(rig.add())
    _, second = rig.verified(name, promotion=1)
    assert claimables(rig) == []
    with pytest.raises(PolicyDenied, match="is verified by"):
        rig.verified(name, promotion=1)
    with pytest.raises(PolicyDenied, match="2 fresh seeds, from 0 on"):
        rig.verified(name, promotion=2)
    with pytest.raises(PolicyDenied, match=f"{second} is a verification itself"):
        rig.verified(second)
    _, first = rig.verified(name)
    seeds = [rig.state.experiments[one].queued for one in (first, second)]
    assert [queued.seed for queued in seeds if queued] == [1009, 1010]
    assert claimables(rig) == [first]
    rig.close()


def test_the_ranking_goes_by_the_mean_over_seeds_on_confirm() -> None:
    ranked = State.replay(
        sketch_contract(),
        tape.events(
            (
                *tape.life("a", confirm=0.9, effective=tape.digest("one"), seed=0),
                *tape.life(
                    "b", confirm=0.3, effective=tape.digest("one"), seed=7, purpose="verify"
                ),
                *tape.life("c", confirm=0.7, effective=tape.digest("two")),
                *tape.life("d", confirm=0.99, effective=tape.digest("three")),
                tape.integrity("d", "flagged"),
            )
        ),
    )
    one, two = (rank(ranked, fixed=7)[at] for at in (1, 0))
    assert (two.experiments, two.claimable) == (("c",), None)
    assert (one.experiments, one.claimable, one.seeds) == (("a", "b"), "b", 1)
    assert one.confirm_mean == pytest.approx(0.3), "the score that won the search is left out"


def test_a_seed_counts_once_however_often_it_was_trained() -> None:
    one = tape.digest("one")
    scores = (("a", 0.9, 7), ("b", 0.7, 7), ("c", 0.8, 7), ("d", 0.4, 8))
    facts = [
        fact
        for name, confirm, seed in scores
        for fact in tape.life(name, confirm=confirm, effective=one, seed=seed, purpose="verify")
    ]
    (found,) = rank(State.replay(sketch_contract(), tape.events(tuple(facts))), fixed=7)
    assert found.seeds == 2
    assert found.confirm_mean == pytest.approx(0.6)


def test_a_claim_is_for_the_best_verified_one_and_once(rig: Rig) -> None:
    data = rig.add()
    _, weak = rig.explored(data, steps=1)
    _, strong = rig.explored(data, steps=5)
    with pytest.raises(PolicyDenied, match="no recipe was verified"):
        rig.main().act("champion.claim", experiment=strong)
    _, second = rig.verified(weak)
    _, first = rig.verified(strong)
    assert claimables(rig) == [first, second]
    for wrong in (weak, strong, second, "base"):
        with pytest.raises(PolicyDenied, match=f"puts {first} first"):
            rig.main().act("champion.claim", experiment=wrong)
    rig.main().act("champion.claim", experiment=first)
    rig.settle()
    for again in (first, second):
        with pytest.raises(PolicyDenied, match="a run claims once"):
            rig.main().act("champion.claim", experiment=again)


@pytest.mark.parametrize("which", ["original", "verification"])
def test_a_flag_after_the_verification_removes_it_from_the_ranking(rig: Rig, which: str) -> None:
    data = rig.add()
    _, weak = rig.explored(data, steps=1)
    _, strong = rig.explored(data, steps=5)
    _, second = rig.verified(weak)
    _, first = rig.verified(strong)
    flag(rig, strong if which == "original" else first)
    assert claimables(rig) == [second]
    with pytest.raises(PolicyDenied, match=f"puts {second} first"):
        rig.main().act("champion.claim", experiment=first)
