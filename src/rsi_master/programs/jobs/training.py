"""What every training program does around its trainer: inputs, settings, figures, the result.

A program reads `job.json`, `in/init` (a checkpoint folder) and rows; it writes `out/` alone. Equal
inputs, specification, seed and thread count give equal weights on one processor type.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Generic, TypeVar

import accelerate
import datasets
import peft
import torch
import transformers
import trl
from peft import LoraConfig, PeftModel
from transformers import PreTrainedModel, TrainerCallback

from rsi_master.core import canonical
from rsi_master.core.failure import Drop, Failure
from rsi_master.core.job import Job
from rsi_master.domains.training import tensors
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.result import Stop, TrainResult
from rsi_master.domains.training.tuning import Schedule, Tuning
from rsi_master.programs.jobs import checkpoint, result
from rsi_master.programs.jobs.checkpoint import WEIGHTS
from rsi_master.programs.jobs.divergence import Divergence
from rsi_master.programs.jobs.result import Metric, Spool, Untrainable
from rsi_master.programs.jobs.rows import Tokenizer

LIBRARIES: Final[tuple[ModuleType, ...]] = (torch, transformers, trl, peft, datasets, accelerate)
SCHEDULERS: Final[Mapping[Schedule, str]] = {
    "cosine": "cosine",
    "linear": "linear",
    "constant": "constant_with_warmup",
}
OPTIMISER: Final[Mapping[str, Any]] = {
    "optim": "adamw_torch_fused",
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "max_grad_norm": 1.0,
    "gradient_accumulation_steps": 1,
    "label_smoothing_factor": 0.0,
    "neftune_noise_alpha": None,
    "train_sampling_strategy": "random",
    "dataloader_drop_last": False,
}
"""AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101), rows in random order. Like the loss of each
recipe it is said in full: what a library takes by default may differ in its next release."""
Spec = TypeVar("Spec", bound=Tuning)


@dataclass(slots=True)
class Progress:
    """What was done so far; it outlives a training that stops early."""

    planned: int = 0
    done: int = 0
    kept: int = 0
    supervised: int = 0
    total: int = 0
    loss: float | None = None
    tokenizer: int | None = None
    stopped: Stop | None = None
    dropped: Counter[Drop] = field(default_factory=Counter)


@dataclass(frozen=True)
class Work(Generic[Spec]):
    """A training under way: its inputs, where it may write, and what it tells."""

    folder: Path
    config: TrainConfig[Spec]
    tokenizer: Tokenizer
    progress: Progress
    spool: Spool
    scratch: Path

    @property
    def spec(self) -> Spec:
        """The specification."""
        return self.config.spec

    @property
    def init(self) -> Path:
        """The folder of the initial checkpoint."""
        return self.folder / "in" / "init"

    @property
    def inputs(self) -> Path:
        """The folder of all inputs."""
        return self.folder / "in"

    def room(self, longest: int, answer: int = 0) -> int:
        """The most tokens of a row or, beside an answer of so many, of a prompt: `longest`, and no
        more than the model was made for."""
        return min(longest, checkpoint.context(self.init) - answer)

    def plan(self, rows: int) -> int:
        """Note how many rows were kept; the steps that follow. Raises Untrainable without rows."""
        self.progress.kept = rows
        self.progress.planned = self.spec.planned_steps(rows)
        if not rows:
            dropped = dict(sorted(self.progress.dropped.items()))
            raise Untrainable("NO_ROWS", f"no row is left to train on; dropped: {dropped}")
        return self.progress.planned


class Heartbeat(TrainerCallback):  # type: ignore[misc]
    """Writes each logged step to the spool and stops a training whose loss has diverged.

    `answers` is how many rows a step takes, `before` how many steps earlier rounds took.
    """

    def __init__(
        self, work: Work[Any], answers: int, *, before: int = 0, falling: bool = True
    ) -> None:
        self._spool, self._progress = work.spool, work.progress
        self._answers, self._before = answers, before
        self._divergence = Divergence() if falling else None

    def on_log(self, args, state, control, logs, **kwargs):  # type: ignore[no-untyped-def]
        """Called by the trainer after each step, and once more with a summary that has no loss."""
        if "loss" not in logs:
            return
        step, loss = self._before + state.global_step, float(logs["loss"])
        self._progress.done, self._progress.loss = step, loss
        self._spool.log(
            Metric(
                step=step,
                loss=loss,
                learning_rate=logs["learning_rate"],
                grad_norm=logs["grad_norm"],
                tokens=self._progress.total,
                rows_per_second=self._spool.rate(step, self._answers),
                reward=logs.get("reward"),
            )
        )
        if self._divergence is not None and self._divergence.seen(loss):
            raise Untrainable("DIVERGED", f"by step {step} {self._divergence.told()}")


class Counting:
    """Mixed into a trainer: counts tokens as they are trained on, and stops at the first loss that
    is not finite."""

    progress: Progress

    def tokens(self, inputs: Mapping[str, torch.Tensor]) -> tuple[int, int]:
        """How many tokens a batch has, padding left out, and how many of them bear loss."""
        raise NotImplementedError

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):  # type: ignore[no-untyped-def]
        """The loss of a batch."""
        total, supervised = self.tokens(inputs)
        self.progress.total += total
        self.progress.supervised += supervised
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)  # type: ignore[misc]
        if not torch.isfinite(loss).all():
            step = self.state.global_step + 1  # type: ignore[attr-defined]
            raise Untrainable("NOT_FINITE", f"the loss of step {step} is {loss.item()}")
        return loss


def run(
    folder: Path,
    config: type[TrainConfig[Spec]],
    train: Callable[[Work[Spec]], PreTrainedModel | PeftModel],
) -> None:
    """Carry the job out. A training that fails leaves its reason and no checkpoint."""
    job = Job.model_validate(canonical.decode((folder / "job.json").read_bytes()))
    asked = config.model_validate(job.config)
    torch.set_num_threads(asked.threads)
    # A debugging aid of the deterministic mode; it touches all fresh memory, at half of the speed.
    torch.utils.deterministic.fill_uninitialized_memory = False
    progress, failure = Progress(), None
    try:
        _carry_out(folder, asked, train, progress)
    except Untrainable as untrainable:
        failure = untrainable.failure
    result.write(folder / "out", _told(folder, asked.threads, progress, failure))


def _carry_out(
    folder: Path,
    config: TrainConfig[Spec],
    train: Callable[[Work[Spec]], PreTrainedModel | PeftModel],
    progress: Progress,
) -> None:
    out, init = folder / "out", folder / "in" / "init"
    tokenizer = checkpoint.tokenizer(init)
    progress.tokenizer = len(tokenizer)
    with (
        tempfile.TemporaryDirectory(prefix=".scratch-", dir=out) as scratch,
        result.spool(out) as spool,
    ):
        work = Work(folder, config, tokenizer, progress, spool, Path(scratch))
        trained = train(work)
    if isinstance(trained, PeftModel):
        checkpoint.save_adapter(trained, out / "adapter")
        trained = trained.merge_and_unload()
    checkpoint.save(trained, init / WEIGHTS, out / WEIGHTS)


def _told(folder: Path, threads: int, progress: Progress, failure: Failure | None) -> TrainResult:
    return TrainResult(
        steps_planned=progress.planned,
        steps_done=progress.done,
        rows_kept=progress.kept,
        dropped=dict(sorted(progress.dropped.items())),
        tokens_supervised=progress.supervised,
        tokens_total=progress.total,
        final_loss=progress.loss,
        change={} if failure else _change(folder),
        finite=failure is None,
        tokenizer_length=progress.tokenizer,
        threads=threads,
        versions={library.__name__: library.__version__ for library in LIBRARIES},
        stopped=progress.stopped,
        failure=failure,
    )


def arguments(work: Work[Any], steps: int, batch_size: int) -> dict[str, Any]:
    """Settings of any trainer: nothing saved, reported, downloaded or left to chance or to the
    defaults of a library."""
    spec, accelerated = work.spec, torch.cuda.is_available()
    return {
        "output_dir": str(work.scratch),
        "max_steps": steps,
        "per_device_train_batch_size": batch_size,
        "learning_rate": spec.learning_rate,
        "lr_scheduler_type": SCHEDULERS[spec.schedule],
        "warmup_steps": spec.warmup,
        "weight_decay": spec.weight_decay,
        "seed": work.config.seed,
        "full_determinism": True,
        "use_cpu": not accelerated,
        "bf16": accelerated,
        "fp16": False,
        "gradient_checkpointing": accelerated,
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": False,
        **OPTIMISER,
        "save_strategy": "no",
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": [],
        "disable_tqdm": True,
    }


def lora(spec: Tuning) -> LoraConfig | None:
    """The adapter, if the specification asks for one."""
    if spec.method == "full":
        return None
    return LoraConfig(
        task_type="CAUSAL_LM",
        r=spec.lora_rank,
        lora_alpha=spec.lora_alpha,
        lora_dropout=0.0,
        target_modules=list(spec.projections()),
    )


def pad(tokenizer: Tokenizer) -> int:
    """A padding id that is not the end token. Padding bears no attention and no loss."""
    known = getattr(tokenizer, "pad_token_id", None)
    if known is not None and known != tokenizer.eos_token_id:
        return int(known)
    return 0 if tokenizer.eos_token_id != 0 else 1


def _change(folder: Path) -> dict[tensors.Group, float]:
    before = tensors.read(folder / "in" / "init" / WEIGHTS)
    return tensors.change(before, tensors.read(folder / "out" / WEIGHTS))
