"""The Worker's playbook: customary first settings, then one change at a time, by the curve."""

from pathlib import Path

import pytest

from rsi_master.agents.playbook import rates, worker
from rsi_master.agents.playbook.settings import ADAPTER_FROM, SMALL_BATCH
from rsi_master.agents.playbook.worker import (
    FIRST_EPOCHS,
    MORE_EPOCHS,
    best_of,
    first_recipe,
    next_recipe,
    still_falling,
    summary,
)
from rsi_master.core.experiment import ExperimentQueued, Integrity, Lifecycle
from rsi_master.core.graph import WorkerFinalised
from rsi_master.core.run import ActionDenied, ActionRead
from rsi_master.core.turn import Ask
from rsi_master.domains.planning.workers import Assignment
from rsi_master.domains.training.curve import Point
from rsi_master.domains.training.sft import SftSpec
from rsi_master.domains.training.views import WorkerExperimentView
from rsi_master.testing import tape
from rsi_master.testing.boards import LIMITS, assignment, experiment
from rsi_master.testing.rig import Rig, sketch_contract

DATA = tape.digest("data")
ROWS = 100_000

TASK = assignment(data=(DATA,))
FALLS = [2.0, 1.6, 1.3, 1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2]
FLAT = [2.0, 1.0, 0.5, 0.4, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]


def seen(
    recipe: dict[str, object] | None = None,
    dev: float | None = 0.5,
    losses: list[float] | None = None,
    lifecycle: Lifecycle = "finished",
    integrity: Integrity = "accepted",
    reason: str = "",
) -> WorkerExperimentView:
    chosen = SftSpec.model_validate(recipe or first_recipe(TASK, ROWS)).model_dump(mode="json")
    return experiment(
        f"e-{dev}",
        chosen,
        dev,
        losses or FALLS,
        lifecycle=lifecycle,
        integrity=integrity,
        reason=reason,
        data=(DATA,),
    )


def unasked() -> int:
    raise AssertionError("only a first training asks how many rows there are")


def following(*views: WorkerExperimentView, init: str = "base") -> dict[str, object] | None:
    move = next_recipe(TASK, list(views), unasked if views else lambda: ROWS)
    if move is None:
        return None
    recipe, start, data = move
    assert (start, data) == (init, DATA)
    SftSpec.model_validate(recipe)
    return recipe


def changes(new: dict[str, object] | None, old: WorkerExperimentView) -> dict[str, object]:
    assert new is not None
    return {name: value for name, value in new.items() if old.recipe[name] != value}


def test_the_first_training_is_one_pass_of_full_weights() -> None:
    recipe = following()
    assert recipe is not None
    assert (recipe["method"], recipe["epochs"]) == ("full", FIRST_EPOCHS)


def test_the_first_rate_falls_with_the_size_of_the_base() -> None:
    found = [
        first_recipe(TASK.model_copy(update={"base_parameters": size}), ROWS)["learning_rate"]
        for size in (10**5, 10**7, 10**9, 10**14)
    ]
    assert found == sorted(found, reverse=True)  # type: ignore[type-var]
    assert found[0] == pytest.approx(0.003239 - 0.0001395 * 11.5129, rel=0.05)
    assert found[-1] == rates.LEAST
    unknown = first_recipe(TASK.model_copy(update={"base_parameters": None}), ROWS)
    assert unknown["learning_rate"] == rates.LEAST


def test_a_large_base_gets_an_adapter_and_small_batches() -> None:
    small, large = (
        SftSpec.model_validate(
            first_recipe(TASK.model_copy(update={"base_parameters": size}), ROWS)
        )
        for size in (ADAPTER_FROM - 1, ADAPTER_FROM)
    )
    assert (small.method, small.batch_size) == ("full", 32)
    assert (large.method, large.batch_size) == ("lora", SMALL_BATCH)


@pytest.mark.parametrize(
    ("rows", "batch"), [(0, 8), (1_500, 8), (2_400, 16), (4_799, 16), (4_800, 32), (10**6, 32)]
)
def test_few_rows_come_in_small_batches_so_that_a_pass_has_enough_updates(
    rows: int, batch: int
) -> None:
    assert first_recipe(TASK, rows)["batch_size"] == batch
    assert rows // batch >= 150 or batch == SMALL_BATCH


@pytest.mark.parametrize("losses", [FALLS, FLAT])
def test_the_second_training_asks_for_the_rate(losses: list[float]) -> None:
    """One pass of each of two rates: neither curve tells whether the other is better."""
    first = seen(losses=losses)
    raised = pytest.approx(rate_of(first) * rates.FACTOR, rel=0.05)
    assert changes(following(first), first) == {"learning_rate": raised}


@pytest.mark.parametrize(
    ("losses", "falls"),
    [
        (FALLS, True),
        (FLAT, False),
        ([1.0], True),
        ([], True),
        ([1.0, 1.0], True),
        ([1.0, 1.0, 1.0], False),
        ([2.0, 1.8, 1.5, 1.2, 1.0, 0.9, 0.85, 0.82, 0.8, 0.8], True),
    ],
    ids=["falls", "flat", "one", "none", "too few", "three", "a schedule flattens the end"],
)
def test_falling_is_judged_by_the_middle_and_the_last_fifth(
    losses: list[float], falls: bool
) -> None:
    view = seen().model_copy(
        update={"curve": tuple(Point(step=n, loss=loss) for n, loss in enumerate(losses))}
    )
    assert still_falling(view) is falls


def test_steps_without_a_loss_are_left_out_of_the_judgement() -> None:
    points = tuple(
        Point(step=n, loss=loss if n % 2 else None) for n, loss in enumerate([*FLAT] * 2)
    )
    assert not still_falling(seen().model_copy(update={"curve": points[10:]}))


def raised(first: WorkerExperimentView, dev: float, losses: list[float]) -> WorkerExperimentView:
    faster = {**first.recipe, "learning_rate": rate_of(first) * rates.FACTOR}
    return seen(faster, dev, losses)


@pytest.mark.parametrize(("dev", "init"), [(0.6, "e-0.6"), (0.3, "e-0.4")])
def test_the_third_training_goes_on_from_the_better_one_at_the_lower_rate(
    dev: float, init: str
) -> None:
    first = seen(dev=0.4)
    longer = following(first, raised(first, dev, FALLS), init=init)
    assert changes(longer, first) == {"epochs": MORE_EPOCHS}


def test_a_flat_curve_goes_on_at_a_lower_rate() -> None:
    first = seen(dev=0.4, losses=FLAT)
    gentler = following(first, raised(first, 0.3, FLAT), init=first.id)
    lower = pytest.approx(rate_of(first) / rates.FACTOR, rel=0.05)
    assert changes(gentler, first) == {"learning_rate": lower}


def test_what_was_continued_is_not_continued_again() -> None:
    first = seen(dev=0.4)
    second = raised(first, 0.3, FALLS)
    for dev in (0.2, 0.9):
        third = seen(dev=dev).model_copy(update={"init": first.id})
        assert following(first, second, third) is None


def rate_of(view: WorkerExperimentView) -> float:
    return rates.of(view.recipe)


def failed(recipe: dict[str, object] | None = None, reason: str = "") -> WorkerExperimentView:
    return seen(recipe, lifecycle="failed", integrity="pending", dev=None, reason=reason)


@pytest.mark.parametrize("reason", ["NOT_FINITE", "NO_CHANGE", "TIMEOUT"])
def test_a_failure_is_followed_by_a_gentler_rate(reason: str) -> None:
    first = failed(reason=reason)
    rate = first.recipe["learning_rate"]
    assert isinstance(rate, float)
    new = changes(following(first), first)
    assert new == {"learning_rate": pytest.approx(rate / rates.FACTOR, rel=0.05)}
    again = failed({**first.recipe, **new}, reason)
    assert changes(following(first, again), again) == {
        "learning_rate": pytest.approx(rate / rates.FACTOR**2, rel=0.1)
    }


@pytest.mark.parametrize("reason", ["CRASHED", "INFRASTRUCTURE"])
@pytest.mark.parametrize(("batch", "half"), [(32, 16), (8, 4), (3, 1)])
def test_a_job_that_may_have_lacked_memory_is_followed_by_half_the_batch(
    reason: str, batch: int, half: int
) -> None:
    first = failed({**first_recipe(TASK, ROWS), "batch_size": batch}, reason)
    rate = first.recipe["learning_rate"]
    assert isinstance(rate, float)
    gentler = pytest.approx(rate / rates.FACTOR, rel=0.05)
    assert changes(following(first), first) == {"learning_rate": gentler, "batch_size": half}


@pytest.mark.parametrize("reason", ["NO_ROWS", "WRONG_ROWS", "NO_CHECKPOINT"])
def test_a_failure_that_no_rate_helps_ends_the_direction(reason: str) -> None:
    assert following(failed(reason=reason)) is None


def test_a_batch_of_one_row_stays() -> None:
    first = failed({**first_recipe(TASK, ROWS), "batch_size": 1}, "CRASHED")
    assert set(changes(following(first), first)) == {"learning_rate"}


def test_without_data_there_is_nothing_to_try() -> None:
    assert next_recipe(TASK.model_copy(update={"data": ()}), [], unasked) is None


def test_the_best_is_accepted_scored_and_the_earlier_of_equals() -> None:
    flagged = seen(dev=0.9, integrity="flagged")
    unscored = seen(dev=None)
    first, second = seen(dev=0.5), seen(dev=0.5, losses=FLAT)
    assert best_of([flagged, unscored, first, second]) is first
    assert best_of([flagged, unscored]) is None


def test_the_summary_cites_all_and_names_the_best() -> None:
    views = [seen(dev=0.4), seen(dev=0.6), seen(lifecycle="failed", dev=None)]
    found = summary(TASK, views)
    assert found["cites"] == tuple(view.id for view in views)
    assert found["best"] == "e-0.6"
    assert "dev 0.600" in str(found["summary"])
    assert len(str(summary(TASK, views * 60)["summary"])) <= 2000


def test_data_of_a_kind_that_the_recipe_does_not_take_ends_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else opened the direction; the Worker says that it has nothing, and is not stuck."""
    rig = Rig(tmp_path, sketch_contract(policy={"sources": ["sketch/pairs"]}))
    monkeypatch.setattr(worker, "first_recipe", lambda task, rows: {"name": "sketch"})
    node = rig.open_worker(rig.add("sketch/pairs"))
    ask = Ask(order="o", role="worker", node=node, trigger="created", limits=LIMITS)
    worker.WorkerPlaybook().act(ask, rig.worker(node))
    assert [denied.rule for denied in rig.facts(ActionDenied)] == ["kind"]
    assert [fact.node for fact in rig.facts(WorkerFinalised)] == [node]
    assert rig.facts(ExperimentQueued) == []
    rig.close()


def test_the_pool_is_looked_into_before_a_first_training_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read is recorded, so a record shows what a Worker decided from."""
    rig = Rig(tmp_path)
    asked: list[int] = []

    def first(task: Assignment, rows: int) -> dict[str, object]:
        asked.append(rows)
        return {"name": "sketch"}

    def looked(node: str) -> int:
        ask = Ask(order="o", role="worker", node=node, trigger="created", limits=LIMITS)
        for _ in range(2):  # it submits, then it finalises
            worker.WorkerPlaybook().act(ask, rig.worker(node))
            rig.settle()
        return [fact.action for fact in rig.facts(ActionRead)].count("data.list")

    monkeypatch.setattr(worker, "first_recipe", first)
    data = rig.add()
    _, name = rig.explored(data, gain=0.2)
    copy = rig.open_worker(experiments=1, purpose="verify", replicates=name, predecessors=("w1",))
    assert looked(copy) == 0
    assert looked(rig.open_worker(data, experiments=1)) == 1
    assert (len(rig.facts(ExperimentQueued)), asked) == (3, [rig.state.datasets[data].rows])
    rig.close()


def test_a_verification_is_trained_though_no_more_can_be_opened(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.score_base()
    _, name = rig.explored(rig.add())
    copy = rig.open_worker(experiments=1, purpose="verify", replicates=name, predecessors=("w1",))
    spent = LIMITS.model_copy(update={"verifications": 0, "closing": True, "workers_now": 0})
    ask = Ask(order="o", role="worker", node=copy, trigger="created", limits=spent)
    worker.WorkerPlaybook().act(ask, rig.worker(copy))
    rig.settle()
    assert [e.lifecycle for e in rig.state.owned(copy)] == ["finished"]
    rig.close()
