"""Group-relative policy optimisation by TRL, rewarded by the benchmark's open verifier."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import torch
from datasets import Dataset
from peft import PeftModel
from transformers import PreTrainedModel, TrainerCallback
from transformers.trainer_callback import PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from rsi_master.core.artifact import Prompt
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.grpo import GrpoSpec
from rsi_master.programs.jobs import checkpoint, judge, rows, sampling, training, verifier
from rsi_master.programs.jobs.result import Untrainable
from rsi_master.programs.jobs.training import Counting, Heartbeat, Progress, Work
from rsi_master.programs.jobs.verifier import Verifier

LOSS: Final[Mapping[str, Any]] = {
    "loss_type": "dapo",
    "scale_rewards": "group",
    "num_iterations": 1,
    "epsilon": 0.2,
    "epsilon_high": 0.2,
    "delta": None,
    "importance_sampling_level": "token",
    "mask_truncated_completions": False,
    "top_entropy_quantile": 1.0,
    "entropy_coef": 0.0,
    "use_adaptive_entropy": False,
    "off_policy_mask_threshold": None,
    "use_bias_correction_kl": True,
    "sync_ref_model": False,
    "disable_dropout": False,
}
"""See `GrpoSpec`. Answers are trained on once, where clipping at 1 ± `epsilon` has no effect."""
DRAWING: Final[Mapping[str, Any]] = {
    "top_p": 1.0,
    "top_k": 0,
    "min_p": None,
    "repetition_penalty": 1.0,
    "steps_per_generation": 1,
    "shuffle_dataset": True,
    "use_vllm": False,
}
"""Answers from the whole distribution of the present weights, to prompts in random order."""
PATIENCE: Final = 10
"""Steps in a row without a group whose rewards differ, after which there is nothing to learn; also
the steps at the beginning whose mean reward is where a training began."""


class _Trainer(Counting, GRPOTrainer):  # type: ignore[misc]
    def tokens(self, inputs: Mapping[str, torch.Tensor]) -> tuple[int, int]:
        answers = int(inputs["completion_mask"].sum())
        return int(inputs["prompt_mask"].sum()) + answers, answers


class Spread(TrainerCallback):  # type: ignore[misc]
    """Stops a training in which no group of answers has different rewards any more.

    It is a result, mostly of full reward, if it has learnt before and its rewards did not fall;
    otherwise Untrainable is raised.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._rewards: list[float] = []
        self._equal = 0

    def on_log(self, args, state, control, logs, **kwargs):  # type: ignore[no-untyped-def]
        """Called by the trainer after each step."""
        share = logs.get("frac_reward_zero_std")
        if share is None:
            return
        self._rewards.append(logs["reward"])
        self._equal = self._equal + 1 if share == 1.0 else 0
        if self._equal < min(PATIENCE, state.max_steps):
            return
        last, before = fmean(self._rewards[-self._equal :]), self._rewards[: -self._equal]
        told = (
            f"for {self._equal} steps all answers to a prompt had the same reward, "
            f"{last:.3g} on average"
        )
        advice = _advice(last, before)
        if advice is not None:
            raise Untrainable("EQUAL_REWARDS", f"{told}; {advice}")
        print(f"stopped after step {state.global_step}: {told}", flush=True)
        self._progress.stopped = "equal_rewards"
        control.should_training_stop = True


def _advice(last: float, before: Sequence[float]) -> str | None:
    """What to do instead of a training that ended in equal rewards of `last` after steps of those
    `before`; None where it was one that has learnt."""
    if not before and last == 1.0:
        return "all answers are right already; take harder prompts"
    if not before:
        return "start from a checkpoint that is right at times"
    began = fmean(before[:PATIENCE])
    return f"it began at {began:.3g}; take a lower learning rate" if last < began else None


def run(folder: Path) -> None:
    """Carry the job out."""
    training.run(folder, TrainConfig[GrpoSpec], _train)


def _train(work: Work[GrpoSpec]) -> PreTrainedModel | PeftModel:
    spec, found = work.spec, rows.load(work.inputs, Prompt)
    verify = judge.load(found) if spec.reward else verifier.load(work.config.verifier, found)
    known = verifier.known(found, verify, work.progress.dropped)
    fits = rows.fitting(
        known, work.tokenizer, work.room(spec.max_length, spec.answer_tokens), work.progress.dropped
    )
    steps = work.plan(len(fits))
    # TRL drops a batch that is not full: where there are fewer prompts, a batch takes all of them.
    answers = min(spec.prompts, len(fits)) * spec.samples
    model = checkpoint.model(work.init)
    sampling.neutral(model, work.tokenizer)
    trainer = _Trainer(
        model=model,
        reward_funcs=[_reward(verify)],
        args=GRPOConfig(
            **training.arguments(work, steps, answers),
            **LOSS,
            **DRAWING,
            num_generations=spec.samples,
            max_completion_length=spec.answer_tokens,
            temperature=spec.temperature,
            beta=spec.beta,
        ),
        train_dataset=Dataset.from_list([{"prompt": row.prompt} for row in fits]),
        processing_class=work.tokenizer,
        peft_config=training.lora(spec),
        callbacks=[Heartbeat(work, answers, falling=False), Spread(work.progress)],
    )
    trainer.progress = work.progress
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer.model


def _reward(verify: Verifier) -> Callable[..., list[float]]:
    """The points of each answer, as TRL asks for them."""

    def reward(prompts: Sequence[str], completions: Sequence[str], **_: object) -> list[float]:
        return [
            verifier.points(verify, prompt, completion)
            for prompt, completion in zip(prompts, completions, strict=True)
        ]

    return reward
