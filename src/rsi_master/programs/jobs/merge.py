"""Merges checkpoints in weight space: `in/init` and every `in/merged*`.

Where their order has no effect by the method it has none on the bits: they are summed in the order
of their digests.
"""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import peft
import torch
from peft.utils.merge_utils import task_arithmetic, ties
from safetensors.torch import load_file, save_file

from rsi_master.core import canonical
from rsi_master.core.job import Job
from rsi_master.domains.training import tensors, vocabulary
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.merge import MergeSpec
from rsi_master.domains.training.result import TrainResult
from rsi_master.programs.jobs import result
from rsi_master.programs.jobs.checkpoint import WEIGHTS


def run(folder: Path) -> None:
    """Carry the job out; sums are taken in double precision, tensor by tensor."""
    job = Job.model_validate(canonical.decode((folder / "job.json").read_bytes()))
    config = TrainConfig[MergeSpec].model_validate(job.config)
    torch.set_num_threads(config.threads)
    init, out = folder / "in" / "init", folder / "out"
    others = (folder / "in").glob("merged*")
    several = [load_file(path) for path in ordered(config.spec, init, others)]
    merged = {
        name: join(config.spec, [one[name].double() for one in several])
        .to(several[0][name].dtype)
        .contiguous()
        for name in several[0]
    }
    save_file(merged, out / WEIGHTS, metadata={"format": "pt"})
    before = tensors.read(init / WEIGHTS)
    told = TrainResult(
        steps_planned=0,
        steps_done=0,
        rows_kept=0,
        tokens_supervised=0,
        tokens_total=0,
        final_loss=None,
        change=tensors.change(before, tensors.read(out / WEIGHTS)),
        finite=all(bool(torch.isfinite(one).all()) for one in merged.values()),
        tokenizer_length=vocabulary.length(init),
        threads=config.threads,
        versions={library.__name__: library.__version__ for library in (torch, peft)},
    )
    result.write(out, told)


def ordered(spec: MergeSpec, init: Path, others: Iterable[Path]) -> list[Path]:
    """The files of weights by their digests; θ_in stays the first where the method adds to it."""
    first, rest = init / WEIGHTS, [other / WEIGHTS for other in others]
    if spec.method == "linear":
        return sorted((first, *rest), key=_digest)
    return [first, *sorted(rest, key=_digest)]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def join(spec: MergeSpec, several: Sequence[torch.Tensor]) -> torch.Tensor:
    """One tensor of all checkpoints, the first of them θ_in; all of equal shape."""
    first, changes = several[0], [one - several[0] for one in several[1:]]
    match spec.method:
        case "linear":
            return torch.stack(tuple(several)).mean(0)
        case "task_arithmetic":
            return first + task_arithmetic(changes, torch.full((len(changes),), spec.scale))
        case "ties":
            equal = torch.full((len(changes),), spec.scale)
            return first + ties(changes, equal, spec.density)
