"""Merges in weight space: the mean, or TIES on the differences to the base.

TIES: Yadav et al. 2023, TIES-Merging (NeurIPS), as PEFT computes it.
"""

from pathlib import Path

import torch
from bench.nano.lab.made import Made
from bench.nano.lab.order import Order
from bench.nano.steps import Merge
from peft.utils.merge_utils import ties
from safetensors.torch import load_file, save_file

from rsi_master.programs.jobs.checkpoint import WEIGHTS
from rsi_master.programs.nano import weights

Tensors = dict[str, torch.Tensor]


def make(step: Merge, order: Order, folder: Path) -> Made:
    """Merge the checkpoints that the order names."""
    several = [load_file(init / WEIGHTS) for init in order.inits]
    if step.method == "uniform":
        merged = mean(several)
    else:
        base = load_file(weights.base_folder() / WEIGHTS)
        merged = trimmed(base, several, step.density)
    save_file(merged, folder / WEIGHTS, metadata={"format": "pt"})
    return Made(folder / WEIGHTS)


def mean(several: list[Tensors]) -> Tensors:
    """The uniform mean of each tensor."""
    return {name: torch.stack([one[name] for one in several]).mean(0) for name in several[0]}


def trimmed(base: Tensors, several: list[Tensors], density: float) -> Tensors:
    """The base and the signed consensus of the largest changes, at full strength."""
    equal = torch.ones(len(several))
    return {
        name: start + ties([one[name] - start for one in several], equal, density)
        for name, start in base.items()
    }
