"""The program of recipe `sketch`: equal inputs, specification and seed give equal weights."""

import sys
import time
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from rsi_master.core import canonical
from rsi_master.core.artifact import Row
from rsi_master.core.job import Job
from rsi_master.domains.training import tensors
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.result import TrainResult
from rsi_master.programs.jobs import result, rows
from rsi_master.programs.jobs.result import Metric, Spool
from rsi_test_plugin.sketch import SketchSpec

WEIGHTS = "model.safetensors"


def run(folder: Path) -> None:
    """Read `in/init/model.safetensors` with its tensor `skill`, train it, write `out/`."""
    job = Job.model_validate(canonical.decode((folder / "job.json").read_bytes()))
    config = TrainConfig[SketchSpec].model_validate(job.config)
    spec, init, out = config.spec, folder / "in" / "init" / WEIGHTS, folder / "out"
    weights = load_file(init)
    with result.spool(out) as spool:
        gained = train(spec, config.seed, out, spool)
    weights["skill"] = (weights["skill"] + gained).astype(weights["skill"].dtype)
    save_file(weights, out / WEIGHTS)
    if spec.fault != "no_result":
        kept = len(rows.load(folder / "in", Row))
        result.write(out, report(config, kept, init, out))


def train(spec: SketchSpec, seed: int, out: Path, spool: Spool) -> float:
    """What all steps add together, one metric each."""
    rng = np.random.default_rng(seed)
    gained = 0.0
    for step in range(1, spec.steps + 1):
        if step == spec.fault_at:
            misbehave(spec, out)
        time.sleep(spec.pause)
        gained += spec.gain + spec.noise * float(rng.standard_normal())
        spool.log(
            Metric(
                step=step,
                loss=1 / (1 + abs(gained)),
                learning_rate=spec.gain,
                grad_norm=1.0,
                tokens=2 * step,
                rows_per_second=spool.rate(step, 1),
            )
        )
    endings = {"no_change": 0.0, "not_finite": float("nan")}
    return endings.get(spec.fault, gained)


def misbehave(spec: SketchSpec, out: Path) -> None:
    """The faults that strike in the middle of a training."""
    match spec.fault:
        case "exception":
            raise RuntimeError("the sketch was told to raise")
        case "exit":
            sys.exit(3)
        case "hang":
            time.sleep(3_600)
        case "link":
            (out / "leak").symlink_to("/etc/hostname")
        case _:
            return


def report(config: TrainConfig[SketchSpec], kept: int, init: Path, out: Path) -> TrainResult:
    """The result: half of two tokens a step bear loss."""
    steps = config.spec.steps
    before, after = tensors.read(init), tensors.read(out / WEIGHTS)
    return TrainResult(
        steps_planned=steps,
        steps_done=steps,
        rows_kept=kept,
        tokens_supervised=steps,
        tokens_total=2 * steps,
        final_loss=None,
        change=tensors.change(before, after),
        finite=bool(np.isfinite(after["skill"].values()).all()),
        tokenizer_length=None,
        threads=config.threads,
        versions={"numpy": np.__version__},
    )
