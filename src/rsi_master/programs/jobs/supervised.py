"""Supervised steps by TRL on encoded rows: what SFT is, and a round of rejection sampling."""

from collections.abc import Mapping
from typing import Any, Final

import torch
from datasets import Dataset
from peft import PeftModel
from transformers import PreTrainedModel
from transformers.trainer_callback import PrinterCallback
from trl import SFTConfig, SFTTrainer
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from rsi_master.programs.jobs import training
from rsi_master.programs.jobs.rows import IGNORED, Encoded
from rsi_master.programs.jobs.training import Counting, Heartbeat, Work

LOSS: Final[Mapping[str, Any]] = {
    "loss_type": "nll",
    "packing": False,
    "padding_free": False,
    "shuffle_dataset": False,
}
"""The mean over all supervised tokens of a batch of the negative logarithm of their likelihood."""


class _Trainer(Counting, SFTTrainer):  # type: ignore[misc]
    def tokens(self, inputs: Mapping[str, torch.Tensor]) -> tuple[int, int]:
        return int(inputs["attention_mask"].sum()), int((inputs["labels"] != IGNORED).sum())


def fit(
    work: Work[Any], model: PreTrainedModel, encoded: Encoded, steps: int, before: int = 0
) -> PreTrainedModel | PeftModel:
    """Train the model on the rows, whose ids and labels are ours: TRL prepares nothing.

    `before` is how many steps earlier rounds took.
    """
    batch_size = work.spec.batch_size
    trainer = _Trainer(
        model=model,
        args=SFTConfig(
            **training.arguments(work, steps, batch_size),
            **LOSS,
            max_length=None,
            dataset_kwargs={"skip_prepare_dataset": True},
        ),
        train_dataset=Dataset.from_dict({"input_ids": encoded.ids, "labels": encoded.labels}),
        processing_class=work.tokenizer,
        data_collator=DataCollatorForLanguageModeling(pad_token_id=training.pad(work.tokenizer)),
        peft_config=training.lora(work.spec),
        callbacks=[Heartbeat(work, batch_size, before=before)],
    )
    trainer.progress = work.progress
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer.model
