"""Supervised steps through the shipped recipe program, as a run of the Experiment OS would."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.nano import material
from bench.nano.lab.made import Failed, Made
from bench.nano.lab.order import Order
from bench.nano.lab.verified import passes
from bench.nano.steps import Part, Sft

from rsi_master.core import canonical
from rsi_master.core.artifact import Row
from rsi_master.core.job import Job, Resources
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.result import TrainResult
from rsi_master.domains.training.sft import SFT, SftSpec
from rsi_master.programs.jobs import sft
from rsi_master.programs.jobs.checkpoint import WEIGHTS

PARAMETERS: Final = 500_000
"""The size of the base, for a reservation that nobody holds the job to here."""


def make(step: Sft, order: Order, folder: Path) -> Made:
    """Train on the step's parts for its steps, or for the updates that the order names."""
    rows = gather(step.parts, order.material)
    steps = step.steps or order.updates
    if steps is None:
        raise Failed("bench: a step without a length, and no updates in its order")
    spec = SftSpec(
        learning_rate=step.rate, schedule=step.schedule, batch_size=step.batch, steps=steps
    )
    return train(order.inits[0], rows, spec, order.seed + step.shift, folder / "job")


def gather(parts: Sequence[Part], folder: Path) -> list[Row]:
    """The rows of all parts; raises Failed where none is left."""
    rows = [row for part in parts for row in _rows(part, folder)]
    if not rows:
        raise Failed(f"bench: no row is left of {parts}")
    return rows


def train(init: Path, rows: Sequence[Row], spec: SftSpec, seed: int, folder: Path) -> Made:
    """Run the program on a job folder of its own; raises Failed with the program's reason."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    (folder / "in").mkdir()
    (folder / "in" / "init").symlink_to(init.absolute())
    data = b"".join(canonical.encode(row.model_dump()) + b"\n" for row in rows)
    (folder / "in" / "data.jsonl").write_bytes(data)
    job = Job(
        name="bench",
        program=SFT.name,
        config=TrainConfig(spec=spec, seed=seed).model_dump(),
        resources=Resources(seconds=spec.device_seconds(len(rows), PARAMETERS)),
    )
    (folder / "job.json").write_text(job.model_dump_json(), encoding="utf-8")
    sft.run(folder)
    told = canonical.decode((folder / "out" / "result.json").read_bytes())
    result = TrainResult.model_validate(told)
    if result.failure is not None:
        raise Failed(f"bench: {result.failure.code}: {result.failure.detail}")
    return Made(folder / "out" / WEIGHTS, result.steps_done, result.rows_kept)


def _rows(part: Part, folder: Path) -> list[Row]:
    pool = material.pool(folder, part.source)
    if part.rows is None:
        rows = pool.of(Row, part.tasks)
    else:
        rows = [row for task in part.tasks for row in pool.of(Row, (task,))[: part.rows]]
    return [row for row in rows if not part.verified or passes(row)]
