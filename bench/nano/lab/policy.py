"""GRPO by TRL: groups of answers to one prompt, rewarded by the open verifier."""

from collections.abc import Sequence
from pathlib import Path

from bench.nano import material
from bench.nano.lab import trainer
from bench.nano.lab.made import Made
from bench.nano.lab.order import Order
from bench.nano.lab.verified import known
from bench.nano.steps import Grpo
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from rsi_master.core.artifact import Prompt
from rsi_master.programs.jobs import checkpoint


def make(step: Grpo, order: Order, folder: Path) -> Made:
    """Train for `step.steps`; one batch of groups an update, without a penalty on divergence."""
    init = order.inits[0]
    prompts = material.pool(order.material, "nano/prompts").of(Prompt, step.tasks)
    model = checkpoint.model(init)
    arguments = trainer.settings(folder, order.seed, step.steps, step.rate)
    GRPOTrainer(
        model=model,
        reward_funcs=[reward],
        args=GRPOConfig(
            **arguments,
            per_device_train_batch_size=step.prompts * step.samples,
            num_generations=step.samples,
            max_completion_length=step.tokens,
            temperature=step.temperature,
            lr_scheduler_type="constant",
        ),
        train_dataset=Dataset.from_list([{"prompt": row.prompt} for row in prompts]),
        processing_class=checkpoint.tokenizer(init),
    ).train()
    return trainer.keep(model, init, folder, (step.steps, len(prompts)))


def reward(prompts: Sequence[str], completions: Sequence[str], **_: object) -> list[float]:
    """The points of each completion; raises Failed for a prompt that no verifier knows."""
    return [known(*both) for both in zip(prompts, completions, strict=True)]
