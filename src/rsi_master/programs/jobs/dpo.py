"""Direct preference optimisation by TRL, against the checkpoint that is continued."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from datasets import Dataset
from peft import PeftModel
from transformers import PreTrainedModel
from transformers.trainer_callback import PrinterCallback
from trl import DPOConfig, DPOTrainer
from trl.trainer.dpo_trainer import DataCollatorForPreference

from rsi_master.core.artifact import Pair
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.dpo import DpoSpec
from rsi_master.programs.jobs import checkpoint, rows, training
from rsi_master.programs.jobs.training import Counting, Heartbeat, Work

LOSS: Final[Mapping[str, Any]] = {
    "loss_type": ["sigmoid"],
    "loss_weights": None,
    "label_smoothing": 0.0,
    "f_divergence_type": "reverse_kl",
    "ld_alpha": None,
    "use_weighting": False,
    "padding_free": False,
    "sync_ref_model": False,
    "disable_dropout": True,
}
"""Equation 7 of arXiv 2305.18290 and nothing beside it; the reference stays what it was."""


class _Trainer(Counting, DPOTrainer):  # type: ignore[misc]
    def tokens(self, inputs: Mapping[str, torch.Tensor]) -> tuple[int, int]:
        return int(inputs["attention_mask"].sum()), int(inputs["completion_mask"].sum())

    def _prepare_dataset(self, dataset: Dataset, *_: object) -> Dataset:
        """The ids are ours: prompt and answers tokenised apart, one end token each."""
        return dataset


def run(folder: Path) -> None:
    """Carry the job out."""
    training.run(folder, TrainConfig[DpoSpec], _train)


def _train(work: Work[DpoSpec]) -> PreTrainedModel | PeftModel:
    spec = work.spec
    pairs = rows.load(work.inputs, Pair)
    columns = rows.encode_pairs(
        pairs, work.tokenizer, work.room(spec.max_length), work.progress.dropped
    )
    steps = work.plan(len(columns["prompt_ids"]))
    adapter = training.lora(spec)
    trainer = _Trainer(
        model=checkpoint.model(work.init),
        # With an adapter the reference is the same model without it.
        ref_model=None if adapter else checkpoint.model(work.init),
        args=DPOConfig(
            **training.arguments(work, steps, spec.batch_size),
            **LOSS,
            max_length=None,
            beta=spec.beta,
        ),
        train_dataset=Dataset.from_dict(columns),
        processing_class=work.tokenizer,
        data_collator=DataCollatorForPreference(pad_token_id=training.pad(work.tokenizer)),
        peft_config=adapter,
        callbacks=[Heartbeat(work, spec.batch_size)],
    )
    trainer.progress = work.progress
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer.model
