"""Merges as actions: off unless the contract allows them, over the own lineage alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from rsi_master.agents.playbook.worker import WorkerPlaybook
from rsi_master.core.errors import PolicyDenied
from rsi_master.core.graph import WorkerFinalised
from rsi_master.core.lineage import ancestors
from rsi_master.core.turn import Ask
from rsi_master.domains.training.merge import MergeSpec
from rsi_master.expos.lineage import taint
from rsi_master.programs.jobs.merge import join
from rsi_master.testing.boards import LIMITS
from rsi_master.testing.rig import Rig, sketch_contract


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    contract = sketch_contract(
        policy={"merging": True},
        budget={"experiments": 20},
        research={"experiments_per_worker": 6},
    )
    rig = Rig(tmp_path, contract)
    rig.score_base()
    yield rig
    rig.close()


def test_ties_trims_small_changes_and_elects_the_sign_of_the_larger_sum() -> None:
    """Of two checkpoints beside (0, 0, 0, 0): half of each change counts, the largest ones."""
    start = torch.zeros(4, dtype=torch.float64)
    one = torch.tensor([4.0, 3.0, 0.5, 0.1], dtype=torch.float64)
    other = torch.tensor([2.0, -5.0, 0.5, 0.1], dtype=torch.float64)
    merged = join(MergeSpec(method="ties", density=0.5, scale=0.5), [start, one, other])
    assert merged.tolist() == [0.5 * 3.0, 0.5 * -5.0, 0.0, 0.0]


def two(rig: Rig) -> tuple[str, str, str]:
    """A Worker with two accepted experiments."""
    data = rig.add()
    node = rig.open_worker(data, experiments=rig.contract.research.experiments_per_worker)
    return node, rig.train(node, data, steps=1), rig.train(node, data, steps=3)


def test_a_strict_contract_has_merging_off(tmp_path: Path) -> None:
    strict = Rig(tmp_path)
    strict.score_base()
    node, one, other = two(strict)
    with pytest.raises(PolicyDenied, match="merging off") as denied:
        strict.merge(node, one, other)
    assert denied.value.code == "MERGING"
    strict.close()


def test_a_merge_is_an_experiment_with_two_parents_and_the_mean_of_their_weights(rig: Rig) -> None:
    node, one, other = two(rig)
    merged = rig.state.experiments[rig.merge(node, one, other)]
    assert (merged.lifecycle, merged.integrity) == ("finished", "accepted"), merged.ended
    assert merged.queued is not None
    assert merged.queued.family == "own lineage \u00b7 merge \u00b7 linear"
    assert set(ancestors(rig.state, merged.id)) == {one, other, "base"}
    parts = [rig.state.experiments[name].checkpoint for name in (one, other)]
    changes = [stored.proof.change["other"] for stored in parts if stored is not None]
    assert merged.checkpoint is not None
    moved = merged.checkpoint.proof.change["other"]
    assert moved == pytest.approx(abs(changes[1] - changes[0]) / 2, rel=1e-4)


def test_a_flag_in_one_part_taints_the_merge(rig: Rig) -> None:
    node, one, other = two(rig)
    merged = rig.merge(node, one, other)
    rig.operator().act("audit.flag", experiment=other, category="test_access", reason="it looked")
    assert taint(rig.state, merged) == other
    with pytest.raises(PolicyDenied, match="tainted"):
        rig.merge(node, one, merged)


def test_a_checkpoint_of_a_sibling_is_not_merged(rig: Rig) -> None:
    _, one, _ = two(rig)
    stranger = rig.open_worker(experiments=3)
    with pytest.raises(PolicyDenied) as denied:
        rig.merge(stranger, "base", one)
    assert denied.value.code == "LINEAGE"


def test_no_checkpoint_is_named_twice_and_no_merge_repeated(rig: Rig) -> None:
    node, one, other = two(rig)
    with pytest.raises(PolicyDenied, match="named twice"):
        rig.merge(node, one, one)
    first = rig.merge(node, one, other, density=0.3)
    with pytest.raises(PolicyDenied, match=f"repeats {first}"):
        rig.merge(node, one, other, density=0.9)


@pytest.mark.parametrize(
    ("method", "order", "repeats"),
    [
        ("linear", (2, 1, 0), True),
        ("ties", (0, 2, 1), True),
        ("ties", (1, 0, 2), False),
        ("task_arithmetic", (0, 2, 1), True),
        ("task_arithmetic", (2, 1, 0), False),
    ],
)
def test_a_merge_in_another_order_is_a_repeat_where_the_order_has_no_effect(
    rig: Rig, method: str, order: tuple[int, ...], repeats: bool
) -> None:
    node, one, other = two(rig)
    several = ("base", one, other)
    first = rig.merge(node, *several, method=method, density=1.0)
    again = [several[at] for at in order]
    if not repeats:
        assert rig.merge(node, *again, method=method, density=1.0) != first
        return
    with pytest.raises(PolicyDenied, match=f"repeats {first}"):
        rig.merge(node, *again, method=method, density=1.0)


def test_a_verification_of_a_merge_trains_all_its_parts_again(rig: Rig) -> None:
    node, one, other = two(rig)
    merged = rig.merge(node, one, other)
    rig.finalise(node, merged)
    again, last = rig.verified(merged)
    owned = [experiment.queued for experiment in rig.state.owned(again)]
    assert len(owned) == 3
    assert owned[-1] is not None
    assert owned[-1].experiment == last
    assert set(owned[-1].parents()) == {q.experiment for q in owned[:2] if q}
    originals = [rig.state.experiments[name].queued for name in (one, other, merged)]
    assert {q.effective for q in owned if q} == {q.effective for q in originals if q}


def test_branches_are_merged_around_what_they_have_in_common(tmp_path: Path) -> None:
    """Two branches of one checkpoint, one of them two steps long; both merges pass the policy."""
    policy = {"merging": True, "sources": ["sketch/clean"]}
    rig = Rig(tmp_path, sketch_contract(policy=policy, budget={"experiments": 20}))
    rig.score_base()
    data = rig.add()
    first, common = rig.explored(data, steps=1)
    tips, nodes = [], []
    for steps in ((2, 3), (4,)):
        node = rig.open_worker(data, predecessors=(first,))
        tip = common
        for number in steps:
            tip = rig.train(node, data, init=tip, steps=number)
        rig.finalise(node, tip)
        tips.append(tip)
        nodes.append(node)
    merger = rig.open_worker(recipe="merge", predecessors=(*nodes, first), experiments=2)
    ask = Ask(order="o", role="worker", node=merger, trigger="created", limits=LIMITS)
    for _ in range(3):  # the mean, the sum of changes, the end
        WorkerPlaybook().act(ask, rig.worker(merger))
        rig.settle()
    made = [e.queued for e in rig.state.owned(merger) if e.queued]
    assert [(q.recipe["method"], q.parents()) for q in made] == [
        ("linear", (tips[0], tips[1])),
        ("task_arithmetic", (common, tips[0], tips[1])),
    ]
    assert [e.lifecycle for e in rig.state.owned(merger)] == ["finished"] * 2
    assert [fact.node for fact in rig.facts(WorkerFinalised)][-1] == merger
    rig.close()
