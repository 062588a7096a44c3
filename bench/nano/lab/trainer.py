"""What the TRL trainers of the bench share: settings that leave nothing to chance or network."""

from pathlib import Path

import torch
from bench.nano.lab.made import Made
from transformers import PreTrainedModel

from rsi_master.programs.jobs import checkpoint
from rsi_master.programs.jobs.checkpoint import WEIGHTS


def settings(folder: Path, seed: int, steps: int, rate: float) -> dict[str, object]:
    """Arguments for any trainer of TRL: one thread, nothing saved or reported."""
    torch.set_num_threads(1)
    # A debugging aid of the deterministic mode; it touches all fresh memory, at half of the speed.
    torch.utils.deterministic.fill_uninitialized_memory = False
    return {
        "output_dir": str(folder / "scratch"),
        "max_steps": steps,
        "learning_rate": rate,
        "seed": seed,
        "full_determinism": True,
        "use_cpu": True,
        "bf16": False,
        "fp16": False,
        "gradient_checkpointing": False,
        "dataloader_pin_memory": False,
        "save_strategy": "no",
        "logging_strategy": "steps",
        "logging_steps": 1,
        "report_to": [],
        "disable_tqdm": True,
    }


def keep(model: PreTrainedModel, init: Path, folder: Path, made: tuple[int, int]) -> Made:
    """Write the weights as recipes do; `made` are updates and rows."""
    checkpoint.save(model, init / WEIGHTS, folder / WEIGHTS)
    return Made(folder / WEIGHTS, *made)
