"""Supervised fine-tuning by TRL: one job folder in, weights and figures out."""

from pathlib import Path

from peft import PeftModel
from transformers import PreTrainedModel

from rsi_master.core.artifact import Row
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.sft import SftSpec
from rsi_master.programs.jobs import checkpoint, rows, supervised, training
from rsi_master.programs.jobs.training import Work


def run(folder: Path) -> None:
    """Carry the job out."""
    training.run(folder, TrainConfig[SftSpec], _train)


def _train(work: Work[SftSpec]) -> PreTrainedModel | PeftModel:
    found = rows.load(work.inputs, Row)
    encoded = rows.encode(
        found, work.tokenizer, work.room(work.spec.max_length), work.progress.dropped
    )
    steps = work.plan(len(encoded.ids))
    return supervised.fit(work, checkpoint.model(work.init), encoded, steps)
