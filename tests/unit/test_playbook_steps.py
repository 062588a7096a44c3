"""The Worker's playbook from a checkpoint on: verifications, continued directions, merges."""

import pytest
from pydantic import TypeAdapter

from rsi_master.agents.playbook import rates
from rsi_master.agents.playbook.continuing import SCALE, next_step
from rsi_master.agents.playbook.replication import replica
from rsi_master.agents.playbook.worker import summary
from rsi_master.core.experiment import Lifecycle
from rsi_master.domains.planning.workers import Assignment, Training
from rsi_master.domains.training.dpo import DpoSpec
from rsi_master.domains.training.grpo import GrpoSpec
from rsi_master.domains.training.merge import MergeSpec
from rsi_master.domains.training.rejection import RejectionSpec
from rsi_master.domains.training.sft import SftSpec
from rsi_master.domains.training.views import WorkerExperimentView
from rsi_master.testing import tape
from rsi_master.testing.boards import assignment, experiment

ROWS, PROMPTS, PAIRS = (tape.digest(word) for word in ("rows", "prompts", "pairs"))
SPECS: TypeAdapter[object] = TypeAdapter(SftSpec | DpoSpec | GrpoSpec | RejectionSpec | MergeSpec)
SFT = {"name": "sft", "method": "full", "learning_rate": 3e-3, "epochs": 3.0, "batch_size": 16}
TASK = assignment(node="w2", data=(ROWS,), recipe="sft", base_parameters=600_000)


def view(
    name: str,
    dev: float = 0.5,
    recipe: dict[str, object] | None = None,
    init: str = "base",
    lifecycle: Lifecycle = "finished",
    reason: str = "",
) -> WorkerExperimentView:
    return experiment(
        name,
        recipe or SFT,
        dev,
        init=init,
        lifecycle=lifecycle,
        reason=reason,
        integrity="accepted" if lifecycle == "finished" else "pending",
        data=(ROWS,),
    )


def step(
    task: Assignment, start: WorkerExperimentView, *seen: WorkerExperimentView
) -> dict[str, object]:
    """The recipe of the next training, which its specification takes."""
    found = next_step(task, start, seen)
    assert found is not None
    action, arguments = found
    assert action == "experiment.submit"
    recipe = arguments["recipe"]
    assert isinstance(recipe, dict)
    SPECS.validate_python(recipe)
    return {**recipe, "init": arguments["init"]}


def about(recipe: str, *data: str) -> Assignment:
    return TASK.model_copy(update={"recipe": recipe, "data": data})


START = view("start", 0.5)


def test_supervision_goes_on_a_notch_lower_as_it_was() -> None:
    found = step(TASK, START)
    assert found["learning_rate"] == pytest.approx(3e-3 / rates.FACTOR)
    assert (found["batch_size"], found["epochs"], found["init"]) == (16, 1.0, "start")


@pytest.mark.parametrize(
    ("recipe", "data"), [("dpo", PAIRS), ("grpo", PROMPTS)], ids=["preferences", "rewards"]
)
def test_preferences_and_rewards_take_a_tenth_of_the_rate(recipe: str, data: str) -> None:
    found = step(about(recipe, data), START)
    assert found["learning_rate"] == pytest.approx(3e-3 / rates.FACTOR / rates.TENTH)


CUSTOMARY = rates.customary(600_000)


@pytest.mark.parametrize(("made_at", "warmed_to"), [(6e-3, 6e-3), (1.4e-4, CUSTOMARY)])
def test_other_data_are_learnt_at_a_rate_that_warms_up_again_and_own_samples_a_notch_below(
    made_at: float, warmed_to: float
) -> None:
    start = view("start", recipe={**SFT, "learning_rate": made_at})
    other = step(about("sft", tape.digest("other")), start)
    assert other["learning_rate"] == pytest.approx(warmed_to, rel=0.05)
    own = step(about("rejection", PROMPTS), start)
    assert own["learning_rate"] == pytest.approx(warmed_to / rates.FACTOR, rel=0.05)
    same = step(TASK, start)
    assert same["learning_rate"] == pytest.approx(made_at / rates.FACTOR, rel=0.05)


def test_other_data_that_did_not_help_are_tried_once_more_with_smaller_steps() -> None:
    task = about("sft", tape.digest("other"))
    first = step(task, START)
    init = first.pop("init")
    worse = view("worse", 0.4, first, str(init))
    again = step(task, START, worse)
    assert again["init"] == "start"
    assert rates.of(again) == pytest.approx(rates.of(first) / rates.FACTOR, rel=0.05)


def test_own_samples_are_trained_on_beside_the_demonstrations() -> None:
    found = next_step(about("rejection", PROMPTS, ROWS), START, [])
    assert found is not None
    assert (found[1]["data"], found[1]["demonstrations"]) == (PROMPTS, ROWS)


@pytest.mark.parametrize("recipe", ["sft", "rejection", "dpo", "grpo"])
def test_what_helped_is_done_again_from_there_and_lower(recipe: str) -> None:
    task = about(recipe, ROWS)
    first = step(task, START)
    init = first.pop("init")
    better = view("better", 0.6, first, str(init))
    again = step(task, START, better)
    assert again["init"] == "better"
    assert rates.of(again) == pytest.approx(rates.of(first) / rates.FACTOR, rel=0.05)


def test_what_did_not_help_is_tried_once_more_with_larger_steps_from_the_start() -> None:
    first = step(TASK, START)
    worse = view("worse", 0.4, {**first, "learning_rate": 1e-3}, "start")
    again = step(TASK, START, worse)
    assert (again["init"], again["learning_rate"]) == ("start", pytest.approx(3e-3))


def test_what_failed_is_tried_once_more_with_smaller_steps() -> None:
    first = step(TASK, START)
    init = first.pop("init")
    failed = view("failed", recipe=first, lifecycle="failed", reason="DIVERGED")
    again = step(TASK, START, failed)
    assert again["learning_rate"] == pytest.approx(3e-3 / rates.FACTOR**2, rel=0.05)
    assert again["init"] == init


@pytest.mark.parametrize("reason", ["NO_RIGHT_ANSWER", "EQUAL_REWARDS", "NO_ROWS", "NO_VERIFIER"])
def test_what_smaller_steps_cannot_help_is_not_tried_again(reason: str) -> None:
    failed = view("failed", recipe=step(TASK, START), lifecycle="failed", reason=reason)
    assert next_step(TASK, START, [failed]) is None


@pytest.mark.parametrize(
    ("recipe", "size", "kept"),
    [
        ({"name": "grpo", "method": "lora", "learning_rate": 1e-5}, 134_500_000, ("lora", 8)),
        ({"name": "merge", "method": "linear"}, 134_500_000, ("lora", 8)),
        ({"name": "merge", "method": "linear"}, 600_000, ("full", 32)),
        ({**SFT, "method": "full", "batch_size": 4}, 134_500_000, ("full", 4)),
    ],
)
def test_what_a_recipe_does_not_tell_follows_from_the_size(
    recipe: dict[str, object], size: int, kept: tuple[str, int]
) -> None:
    task = TASK.model_copy(update={"base_parameters": size})
    found = step(task, view("start", recipe=recipe))
    assert (found["method"], found["batch_size"]) == kept


def test_two_experiments_are_enough_for_a_step() -> None:
    assert next_step(TASK, START, [view("one", 0.6), view("two", 0.7)]) is None
    assert next_step(about("unknown", ROWS), START, []) is None


def test_after_a_merge_the_customary_rate_is_the_measure() -> None:
    merged = view("merged", 0.6, {"name": "merge", "method": "linear"})
    found = step(TASK, merged)
    assert rates.of(found) == pytest.approx(rates.customary(600_000) / rates.FACTOR**2, rel=0.05)


def test_after_rewards_supervision_takes_its_own_rate() -> None:
    rewarded = view("rewarded", 0.6, {"name": "grpo", "method": "full", "learning_rate": 1e-4})
    assert rates.of(step(TASK, rewarded)) == pytest.approx(1e-3 / rates.FACTOR, rel=0.05)


def test_branches_are_joined_by_their_mean_and_then_by_their_changes() -> None:
    task = about("merge")
    start = view("a", init="root")
    assert next_step(task, start, [], ("a", "b"), "root") == (
        "experiment.merge",
        {"recipe": {"method": "linear"}, "init": "a", "others": ("b",)},
    )
    assert next_step(task, start, [view("m")], ("a", "b"), "root") == (
        "experiment.merge",
        {
            "recipe": {"method": "task_arithmetic", "scale": SCALE},
            "init": "root",
            "others": ("a", "b"),
        },
    )
    assert next_step(task, start, [], ("a",), "root") is None


LINEAGE = (
    Training(experiment="a", recipe=SFT, parents=("base",), data=(ROWS,)),
    Training(experiment="b", recipe={"name": "rejection"}, parents=("a",), data=(PROMPTS, ROWS)),
    Training(experiment="m", recipe={"name": "merge"}, parents=("a", "b"), data=()),
)


def test_a_verification_goes_through_the_lineage_on_its_own_checkpoints() -> None:
    task = TASK.model_copy(update={"purpose": "verify", "lineage": LINEAGE})
    done = [view("a2"), view("b2"), view("m2")]
    assert [replica(task, done[:at]) for at in range(4)] == [
        ("experiment.submit", {"recipe": SFT, "init": "base", "data": ROWS}),
        (
            "experiment.submit",
            {
                "recipe": {"name": "rejection"},
                "init": "a2",
                "data": PROMPTS,
                "demonstrations": ROWS,
            },
        ),
        ("experiment.merge", {"recipe": {"name": "merge"}, "init": "a2", "others": ("b2",)}),
        None,
    ]


def test_a_verification_names_the_end_of_the_lineage_or_nothing() -> None:
    task = TASK.model_copy(update={"purpose": "verify", "lineage": LINEAGE})
    done = [view("a2", 0.9), view("b2", 0.7), view("m2", 0.6)]
    assert [summary(task, done[:at])["best"] for at in range(4)] == [None, None, None, "m2"]
    failed = [*done[:2], view("m2", lifecycle="failed")]
    assert summary(task, failed)["best"] is None
    assert summary(TASK, done)["best"] == "a2", "an exploration names its best"


def test_a_verification_stops_at_the_first_training_that_failed() -> None:
    task = TASK.model_copy(update={"purpose": "verify", "lineage": LINEAGE})
    assert replica(task, [view("a2", lifecycle="failed")]) is None


def test_what_another_verification_trained_under_the_seed_is_not_trained_once_more() -> None:
    shared = (LINEAGE[0].model_copy(update={"again": "a2"}), *LINEAGE[1:])
    task = TASK.model_copy(update={"purpose": "verify", "lineage": shared})
    first, second, end = (replica(task, [view("b2"), view("m2")][:at]) for at in range(3))
    assert first is not None
    assert second is not None
    assert first[1]["init"] == "a2"
    assert (second[1]["init"], second[1]["others"]) == ("a2", ("b2",))
    assert end is None
