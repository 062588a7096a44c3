"""Lineage and taint: what may be continued, selected and claimed."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from rsi_master.core.errors import PolicyDenied
from rsi_master.core.event import Fact
from rsi_master.core.state import State
from rsi_master.domains.planning.actions import PlacesView
from rsi_master.domains.planning.ranking import rank
from rsi_master.expos.lineage import ancestors, refusal_to_continue, selectable, taint
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


def test_a_continued_recipe_can_be_verified_from_the_same_start(rig: Rig) -> None:
    data = rig.add()
    first, parent = rig.explored(data, steps=1)
    heir = rig.open_worker(data, predecessors=(first,))
    child = rig.train(heir, data, init=parent, steps=2)
    rig.finalise(heir, child)
    _, again = rig.verified(child)
    queued = rig.state.experiments[again].queued
    assert queued is not None
    assert (queued.init, queued.seed) == (parent, rig.contract.policy.seed_of_promotion)


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
    assert (one.experiments, one.claimable, one.seeds) == (("a", "b"), "b", 2)
    assert one.confirm_mean == pytest.approx(0.6)


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
