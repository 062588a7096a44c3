"""GRPO as it really runs: when it ends, how many prompts a step takes, and which loss that is."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import TrainerControl

from rsi_master.core.experiment import Proof
from rsi_master.core.recipe import RecipeSpec
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.grpo import GRPO, GrpoSpec
from rsi_master.domains.training.proof import check
from rsi_master.programs.jobs.grpo import PATIENCE, Spread
from rsi_master.programs.jobs.result import Untrainable
from rsi_master.programs.jobs.training import Progress
from rsi_master.programs.nano import tokenizer
from tests.flow import jobs
from tests.flow.jobs import ROWS, SEED, Bench, Rows, result_of

VERIFIERS = "rsi_master.testing.verifiers"
PROMPTS: Rows = [{"prompt": row["prompt"]} for row in ROWS]
REWARD = GrpoSpec(
    learning_rate=3e-2, schedule="constant", steps=400, prompts=4, samples=8, answer_tokens=4
)
EQUAL = [1.0] * PATIENCE


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One engine for the module."""
    with jobs.engine(tmp_path_factory.mktemp("grpo"), GRPO) as found:
        yield found


def config(spec: RecipeSpec, verifier: str) -> TrainConfig[RecipeSpec]:
    """What a job is asked to do."""
    return TrainConfig(spec=spec, seed=SEED, verifier=f"{VERIFIERS}:{verifier}")


def logged(rewards: Sequence[float], shares: Sequence[float]) -> tuple[Progress, int]:
    """What became of a training whose steps had these rewards and shares of equal groups, and its
    steps."""
    progress, control = Progress(), TrainerControl()
    spread = Spread(progress)
    for step, (reward, share) in enumerate(zip(rewards, shares, strict=True), 1):
        state = SimpleNamespace(global_step=step, max_steps=len(rewards))
        logs = {"reward": reward, "frac_reward_zero_std": share}
        spread.on_log(None, state, control, logs)  # type: ignore[no-untyped-call]
        if control.should_training_stop:
            break
    return progress, step


@pytest.mark.parametrize("plateau", [1.0, 0.75])
def test_equal_rewards_after_learning_end_a_training_well(plateau: float) -> None:
    rewards = [0.5, 0.5, *([plateau] * 20)]
    progress, steps = logged(rewards, [0.5, 0.0, *([1.0] * 20)])
    assert (progress.stopped, steps) == ("equal_rewards", 2 + PATIENCE)


def test_steps_of_equal_rewards_count_in_a_row_alone() -> None:
    shares = [0.0, *EQUAL[1:], 0.0, *EQUAL[1:]]
    progress, steps = logged([1.0] * len(shares), shares)
    assert (progress.stopped, steps) == (None, len(shares))


@pytest.mark.parametrize(
    ("rewards", "shares", "advice"),
    [
        (EQUAL, EQUAL, "1 on average; all answers are right already; take harder prompts"),
        ([0.0] * PATIENCE, EQUAL, "0 on average; start from a checkpoint that is right at times"),
        ([1.0, 1.0], [1.0, 1.0], "for 2 steps"),
        ([0.5, *([0.25] * PATIENCE)], [0.0, *EQUAL], "it began at 0.5; take a lower learning rate"),
    ],
    ids=["right", "wrong", "short", "fallen"],
)
def test_equal_rewards_without_a_gain_are_a_failure_that_says_what_to_do(
    rewards: list[float], shares: list[float], advice: str
) -> None:
    with pytest.raises(Untrainable, match=advice) as raised:
        logged(rewards, shares)
    assert raised.value.failure.code == "EQUAL_REWARDS"


def test_a_training_at_full_reward_keeps_its_weights(bench: Bench) -> None:
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    out = bench.train("full", GRPO, config(REWARD, "starts_with_letter"), *inputs)
    told, verdict = result_of(out), check(bench.init / "model.safetensors", out, REWARD)
    assert isinstance(verdict, Proof), verdict
    assert told.stopped == "equal_rewards"
    assert PATIENCE < verdict.steps == told.steps_done < told.steps_planned == 400
    assert "1 on average" in (out / "log.txt").read_text()


def test_a_step_takes_what_prompts_there_are_where_fewer_are_usable(bench: Bench) -> None:
    spec = REWARD.model_copy(update={"steps": 2, "prompts": 8})
    inputs = (bench.checkpoint(), bench.data(PROMPTS[:5]))
    out = bench.train("few", GRPO, config(spec, "starts_with_letter"), *inputs)
    verdict = check(bench.init / "model.safetensors", out, spec)
    assert isinstance(verdict, Proof), verdict
    assert verdict.steps == 2
    prompts = sum(jobs.length(row["prompt"]) for row in PROMPTS[:5])
    assert verdict.total_tokens - verdict.supervised_tokens == 2 * spec.samples * prompts


def test_the_loss_of_a_step_counts_each_token_alike_by_the_advantage_of_its_answer(
    bench: Bench, tmp_path: Path
) -> None:
    """Every word with its space ends an answer here: the right one of two is a single token."""
    jobs.write_checkpoint(tmp_path / "init")
    known = tokenizer.build().get_vocab()
    ends = [place for token, place in known.items() if token[0] in " <" and len(token) > 1]
    told = {"eos_token_id": sorted(ends)}
    (tmp_path / "init" / "generation_config.json").write_text(json.dumps(told), encoding="utf-8")
    spec = REWARD.model_copy(
        update={"steps": 1, "prompts": 1, "samples": 2, "answer_tokens": 64, "warmup": 0.0}
    )
    inputs = (bench.checkpoint(tmp_path / "init"), bench.data(PROMPTS[:1]))
    for seed in range(20):
        asked = config(spec, "one_word").model_copy(update={"seed": seed})
        result = result_of(bench.train(f"loss-{seed}", GRPO, asked, *inputs))
        if result.failure is None and result.tokens_supervised > 2:
            break
    wrong = result.tokens_supervised - 1
    assert wrong > 1
    advantage = 0.5 / (0.5**0.5 + 1e-4)
    assert result.final_loss == pytest.approx(advantage * (wrong - 1) / (wrong + 1), abs=1e-3)
