"""Supervised fine-tuning by TRL: one job folder in, weights and figures out.

Reads `job.json`, `in/init` (a checkpoint folder) and `in/data*` (rows); writes `out/` alone. Equal
inputs, specification, seed and thread count give equal weights on one processor type.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

import accelerate
import datasets
import peft
import torch
import transformers
import trl
from datasets import Dataset
from peft import LoraConfig, PeftModel
from transformers import TrainerCallback
from transformers.trainer_callback import PrinterCallback
from trl import SFTConfig, SFTTrainer
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from rsi_master.core import canonical
from rsi_master.core.job import Job
from rsi_master.domains.training import tensors
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.result import Failure, TrainResult
from rsi_master.domains.training.sft import Schedule, SftSpec
from rsi_master.programs.jobs import checkpoint, result, rows
from rsi_master.programs.jobs.checkpoint import WEIGHTS
from rsi_master.programs.jobs.result import Metric, Spool, Untrainable
from rsi_master.programs.jobs.rows import IGNORED, Encoded, Tokenizer

LIBRARIES: Final[tuple[ModuleType, ...]] = (torch, transformers, trl, peft, datasets, accelerate)
SCHEDULERS: Final[Mapping[Schedule, str]] = {
    "cosine": "cosine",
    "linear": "linear",
    "constant": "constant_with_warmup",
}


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


class CountingTrainer(SFTTrainer):  # type: ignore[misc]
    """Counts tokens as they are trained on and stops at the first loss that is not finite."""

    progress: Progress

    def training_step(
        self,
        model: torch.nn.Module,
        inputs: dict[str, torch.Tensor],
        num_items_in_batch: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """One forward and backward pass."""
        self.progress.total += int(inputs["attention_mask"].sum())
        self.progress.supervised += int((inputs["labels"] != IGNORED).sum())
        loss: torch.Tensor = super().training_step(model, inputs, num_items_in_batch)
        if not torch.isfinite(loss):
            step = self.state.global_step + 1
            raise Untrainable("NOT_FINITE", f"the loss of step {step} is {loss.item()}")
        return loss


class Heartbeat(TrainerCallback):  # type: ignore[misc]
    """Writes each logged step to the spool."""

    def __init__(self, spool: Spool, progress: Progress, batch_size: int) -> None:
        self._spool, self._progress, self._batch_size = spool, progress, batch_size

    def on_log(self, args, state, control, logs, **kwargs):  # type: ignore[no-untyped-def]
        """Called by the trainer after each step, and once more with a summary that has no loss."""
        if "loss" not in logs:
            return
        step = state.global_step
        self._progress.done, self._progress.loss = step, float(logs["loss"])
        self._spool.log(
            Metric(
                step=step,
                loss=logs["loss"],
                learning_rate=logs["learning_rate"],
                grad_norm=logs["grad_norm"],
                tokens=self._progress.total,
                rows_per_second=self._spool.rate(step, self._batch_size),
            )
        )


def run(folder: Path) -> None:
    """Carry the job out. A training that fails leaves its reason and no checkpoint."""
    job = Job.model_validate(canonical.decode((folder / "job.json").read_bytes()))
    config = TrainConfig[SftSpec].model_validate(job.config)
    torch.set_num_threads(config.threads)
    # A debugging aid of the deterministic mode; it touches all fresh memory, at half of the speed.
    torch.utils.deterministic.fill_uninitialized_memory = False
    out = folder / "out"
    progress = Progress()
    failure: Failure | None = None
    encoded = Encoded([], [], {})
    try:
        tokenizer = checkpoint.tokenizer(folder / "in" / "init")
        progress.tokenizer = len(tokenizer)
        encoded = rows.encode(rows.load(folder / "in"), tokenizer, config.spec.max_length)
        _train(folder, config, encoded, tokenizer, progress)
    except Untrainable as untrainable:
        failure = untrainable.failure
    trained = failure is None
    moved = _change(folder) if trained else {}
    result.write(
        out,
        TrainResult(
            steps_planned=progress.planned,
            steps_done=progress.done,
            rows_kept=progress.kept,
            dropped=encoded.dropped,
            tokens_supervised=progress.supervised,
            tokens_total=progress.total,
            final_loss=progress.loss,
            change=moved,
            finite=trained,
            tokenizer_length=progress.tokenizer,
            threads=config.threads,
            versions={library.__name__: library.__version__ for library in LIBRARIES},
            failure=failure,
        ),
    )


def _train(
    folder: Path,
    config: TrainConfig[SftSpec],
    encoded: Encoded,
    tokenizer: Tokenizer,
    progress: Progress,
) -> None:
    spec, out = config.spec, folder / "out"
    progress.kept = len(encoded.ids)
    progress.planned = spec.planned_steps(progress.kept)
    if not encoded.ids:
        raise Untrainable("NO_ROWS", f"no row is left to train on; dropped: {encoded.dropped}")
    model = checkpoint.model(folder / "in" / "init")
    with (
        tempfile.TemporaryDirectory(prefix=".scratch-", dir=out) as scratch,
        result.spool(out) as spool,
    ):
        trainer = CountingTrainer(
            model=model,
            args=_arguments(config, progress.planned, Path(scratch)),
            train_dataset=Dataset.from_dict({"input_ids": encoded.ids, "labels": encoded.labels}),
            processing_class=tokenizer,
            data_collator=DataCollatorForLanguageModeling(pad_token_id=_pad(tokenizer)),
            peft_config=_lora(spec) if spec.method == "lora" else None,
            callbacks=[Heartbeat(spool, progress, spec.batch_size)],
        )
        trainer.progress = progress
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        trained = trainer.model
    if isinstance(trained, PeftModel):
        checkpoint.save_adapter(trained, out / "adapter")
        trained = trained.merge_and_unload()
    checkpoint.save(trained, folder / "in" / "init" / WEIGHTS, out / WEIGHTS)


def _arguments(config: TrainConfig[SftSpec], steps: int, scratch: Path) -> SFTConfig:
    """The trainer's settings: nothing saved, reported, downloaded or left to chance."""
    spec, accelerated = config.spec, torch.cuda.is_available()
    return SFTConfig(
        output_dir=str(scratch),
        max_steps=steps,
        per_device_train_batch_size=spec.batch_size,
        learning_rate=spec.learning_rate,
        lr_scheduler_type=SCHEDULERS[spec.schedule],
        warmup_steps=spec.warmup,
        weight_decay=spec.weight_decay,
        max_length=None,
        dataset_kwargs={"skip_prepare_dataset": True},
        seed=config.seed,
        full_determinism=True,
        use_cpu=not accelerated,
        bf16=accelerated,
        fp16=False,
        gradient_checkpointing=accelerated,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
        save_strategy="no",
        logging_strategy="steps",
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to=[],
        disable_tqdm=True,
    )


def _pad(tokenizer: Tokenizer) -> int:
    """A padding id that is not the end token. Padding bears no attention and no loss."""
    known = getattr(tokenizer, "pad_token_id", None)
    if known is not None and known != tokenizer.eos_token_id:
        return int(known)
    return 0 if tokenizer.eos_token_id != 0 else 1


def _lora(spec: SftSpec) -> LoraConfig:
    return LoraConfig(
        task_type="CAUSAL_LM",
        r=spec.lora_rank,
        lora_alpha=spec.lora_alpha,
        lora_dropout=0.0,
        target_modules=list(spec.projections()),
    )


def _change(folder: Path) -> dict[tensors.Group, float]:
    before = tensors.read(folder / "in" / "init" / WEIGHTS)
    return tensors.change(before, tensors.read(folder / "out" / WEIGHTS))
