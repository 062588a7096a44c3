"""DPO by TRL, on the pairs of the pool or on right and wrong answers of one's own."""

from pathlib import Path
from random import Random
from typing import Final

from bench.nano import material
from bench.nano.lab import trainer
from bench.nano.lab.made import Failed, Made
from bench.nano.lab.order import Order
from bench.nano.lab.speech import Sampling, sample
from bench.nano.lab.verified import contrast
from bench.nano.steps import Dpo
from datasets import Dataset
from trl import DPOConfig, DPOTrainer

from rsi_master.core.artifact import Pair, Prompt
from rsi_master.programs.jobs import checkpoint

BATCH: Final = 32


def make(step: Dpo, order: Order, folder: Path) -> Made:
    """Train for `step.steps` against the checkpoint that it starts from."""
    init = order.inits[0]
    pairs = _own(step, order) if step.prompts else _given(step, order)
    if not pairs:
        raise Failed("bench: DPO without a pair")
    model = checkpoint.model(init)
    DPOTrainer(
        model=model,
        args=DPOConfig(
            **trainer.settings(folder, order.seed, step.steps, step.rate),
            per_device_train_batch_size=BATCH,
            beta=step.beta,
        ),
        train_dataset=Dataset.from_list([pair.model_dump() for pair in pairs]),
        processing_class=checkpoint.tokenizer(init),
    ).train()
    return trainer.keep(model, init, folder, (step.steps, len(pairs)))


def _given(step: Dpo, order: Order) -> list[Pair]:
    return material.pool(order.material, "nano/pairs").of(Pair, step.tasks)


def _own(step: Dpo, order: Order) -> list[Pair]:
    pool = material.pool(order.material, "nano/prompts").of(Prompt, step.tasks)
    prompts = [row.prompt for row in pool]
    Random(order.seed).shuffle(prompts)
    asked = prompts[: step.prompts]
    answers = sample(order.inits[0], asked, Sampling(step.samples, 1.0, order.seed))
    found = (contrast(*both) for both in zip(asked, answers, strict=True))
    return [pair for pair in found if pair is not None]
