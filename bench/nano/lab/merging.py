"""Merges in weight space: the mean, a sum of changes, or TIES on the changes to the base.

Sum: Ilharco et al. 2023, Editing Models with Task Arithmetic (ICLR). TIES: Yadav et al. 2023,
TIES-Merging (NeurIPS), as PEFT computes it.
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
    match step.method:
        case "uniform":
            merged = mean(several)
        case "sum":
            merged = added(several[0], several[1:], step.scale)
        case "ties":
            base = load_file(weights.base_folder() / WEIGHTS)
            merged = trimmed(base, several, step.density)
    save_file(merged, folder / WEIGHTS, metadata={"format": "pt"})
    return Made(folder / WEIGHTS)


def mean(several: list[Tensors]) -> Tensors:
    """The uniform mean of each tensor."""
    return {name: torch.stack([one[name] for one in several]).mean(0) for name in several[0]}


def added(first: Tensors, others: list[Tensors], scale: float) -> Tensors:
    """The first and `scale` times all changes of the others to it."""
    return {
        name: start + scale * sum(one[name] - start for one in others)
        for name, start in first.items()
    }


def trimmed(base: Tensors, several: list[Tensors], density: float) -> Tensors:
    """The base and the signed consensus of the largest changes, at full strength."""
    equal = torch.ones(len(several))
    return {
        name: start + ties([one[name] - start for one in several], equal, density)
        for name, start in base.items()
    }
