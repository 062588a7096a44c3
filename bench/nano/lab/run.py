"""Carries out the order in a folder: make the weights, score them, write the result."""

import os
import shutil
import time
from pathlib import Path

from bench.nano import result
from bench.nano.lab import order, scoring
from bench.nano.lab.made import Made
from bench.nano.lab.makers import MAKERS
from bench.nano.lab.order import Order
from bench.nano.result import CHECKPOINT, Result

from rsi_master.programs.jobs.checkpoint import WEIGHTS


def main(folder: Path) -> None:
    """Read the order, leave checkpoint and result; all that is said goes to the log."""
    _redirect(folder / order.LOG)
    asked = order.read(folder)
    begun, begun_cpu = time.monotonic(), time.process_time()
    made, checkpoint = _make(asked, folder)
    seconds, wall = time.process_time() - begun_cpu, time.monotonic() - begun
    scored = scoring.score(asked.step, checkpoint, asked.material)
    result.write(
        folder,
        Result(
            step=asked.step,
            seed=asked.seed,
            cpu_seconds=seconds if made else 0.0,
            wall_seconds=wall if made else 0.0,
            updates=made.updates if made else 0,
            rows=made.rows if made else 0,
            points=scored.points,
            keys=scored.keys,
            answers=scored.answers,
        ),
    )


def _make(asked: Order, folder: Path) -> tuple[Made | None, Path]:
    """What was trained, and the checkpoint to score: for a step without training its parent's."""
    maker = MAKERS.get(asked.step.kind)
    if maker is None:
        return None, asked.inits[0]
    scratch, target = folder / "scratch", folder / CHECKPOINT
    for old in (scratch, target):
        shutil.rmtree(old, ignore_errors=True)
    scratch.mkdir()
    made = maker(asked.step, asked, scratch)
    shutil.copytree(asked.inits[0], target, ignore=shutil.ignore_patterns(WEIGHTS))
    shutil.copyfile(made.weights, target / WEIGHTS)
    shutil.rmtree(scratch)
    return made, target


def _redirect(log: Path) -> None:
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
