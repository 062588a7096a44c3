"""A training through a shipped recipe program, on a job folder as the Experiment OS lays it out."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.nano.lab.made import Failed, Made

from rsi_master.core import canonical
from rsi_master.core.artifact import AnyRow, Row
from rsi_master.core.job import Job, Resources
from rsi_master.core.recipe import Recipe, RecipeSpec
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.dpo import DPO
from rsi_master.domains.training.grpo import GRPO
from rsi_master.domains.training.merge import MERGE
from rsi_master.domains.training.rejection import REJECTION
from rsi_master.domains.training.result import TrainResult
from rsi_master.domains.training.sft import SFT
from rsi_master.programs.jobs import dpo, grpo, merge, rejection, sft
from rsi_master.programs.jobs.checkpoint import WEIGHTS
from rsi_master.programs.sealed.nano import NANO

PARAMETERS: Final = 500_000
"""The size of the base, for a reservation that nobody holds the job to here."""
PROGRAMS: Final[dict[str, Callable[[Path], None]]] = {
    SFT.name: sft.run,
    DPO.name: dpo.run,
    GRPO.name: grpo.run,
    REJECTION.name: rejection.run,
    MERGE.name: merge.run,
}


@dataclass(frozen=True, slots=True)
class Given:
    """Checkpoint folders, the first of them θ_in and the others merged with it, and rows."""

    inits: Sequence[Path]
    rows: Sequence[AnyRow] = ()
    demonstrations: Sequence[Row] = ()


def train(recipe: Recipe, spec: RecipeSpec, given: Given, seed: int, folder: Path) -> Made:
    """Run the recipe's program in `folder`; raises Failed with the program's reason."""
    _lay_out(given, folder)
    config = TrainConfig[RecipeSpec](spec=spec, seed=seed, verifier=NANO.verifier)
    job = Job(
        name="bench",
        program=recipe.name,
        config=config.model_dump(serialize_as_any=True),
        resources=Resources(seconds=spec.device_seconds(len(given.rows), PARAMETERS)),
    )
    (folder / "job.json").write_text(job.model_dump_json(), encoding="utf-8")
    PROGRAMS[recipe.name](folder)
    told = canonical.decode((folder / "out" / "result.json").read_bytes())
    result = TrainResult.model_validate(told)
    if result.failure is not None:
        raise Failed(f"bench: {result.failure.code}: {result.failure.detail}")
    return Made(folder / "out" / WEIGHTS, result.steps_done, result.rows_kept)


def _lay_out(given: Given, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    inputs = folder / "in"
    inputs.mkdir()
    for at, init in enumerate(given.inits):
        (inputs / (f"merged-{at}" if at else "init")).symlink_to(init.absolute())
    for name, rows in (("data", given.rows), ("demonstrations", given.demonstrations)):
        if rows:
            lines = (canonical.encode(row.model_dump(mode="json")) + b"\n" for row in rows)
            (inputs / f"{name}.jsonl").write_bytes(b"".join(lines))
