"""Rejection sampling: train on the answers of one's own that the open verifier finds right."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

from bench.nano import material
from bench.nano.lab import supervised
from bench.nano.lab.made import Failed, Made
from bench.nano.lab.order import Order
from bench.nano.lab.speech import Sampling, sample
from bench.nano.lab.verified import distinct, right
from bench.nano.steps import Rejection

from rsi_master.core.artifact import Prompt
from rsi_master.domains.training.sft import SftSpec
from rsi_master.programs.jobs.checkpoint import WEIGHTS


def make(step: Rejection, order: Order, folder: Path) -> Made:
    """Sample, verify, train, as often as there are rounds; what was kept stays for later ones."""
    pool = material.pool(order.material, "nano/prompts").of(Prompt, step.tasks)
    prompts = [row.prompt for row in pool]
    Random(order.seed).shuffle(prompts)
    rows = supervised.gather(step.keep, order.material) if step.keep else []
    spec = SftSpec(learning_rate=step.rate, steps=step.steps, batch_size=step.batch)
    init, updates, made = order.inits[0], 0, None
    for turn in range(step.rounds):
        asked = _share(prompts, turn, step.prompts)
        seed = order.seed * 1000 + turn
        answers = sample(init, asked, Sampling(step.samples, step.temperature, seed))
        rows = distinct([*rows, *right(asked, answers)])
        if not rows:
            raise Failed("bench: no sampled answer was right; start from a better checkpoint")
        made = supervised.train(init, rows, spec, seed, folder / f"round{turn}")
        updates += made.updates
        init = _checkpoint(order.inits[0], made, folder / f"init{turn}")
    if made is None:
        raise Failed("bench: rejection sampling of no round")
    return Made(made.weights, updates, len(rows))


def _share(prompts: Sequence[str], turn: int, count: int) -> list[str]:
    """The next `count` prompts; they begin anew at the end."""
    return [prompts[at % len(prompts)] for at in range(turn * count, (turn + 1) * count)]


def _checkpoint(like: Path, made: Made, folder: Path) -> Path:
    """A checkpoint folder with the new weights beside the tokenizer of the old."""
    shutil.copytree(like, folder, ignore=shutil.ignore_patterns(WEIGHTS), dirs_exist_ok=True)
    shutil.copyfile(made.weights, folder / WEIGHTS)
    return folder
