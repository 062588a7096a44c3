"""A sampler of the sketch benchmark: the real keeping of rows, answers without a model."""

from pathlib import Path
from random import Random
from typing import Final

from safetensors.numpy import load_file

from rsi_master.core import canonical
from rsi_master.core.job import Job, Program
from rsi_master.domains.data.samples import NAME, SampleConfig
from rsi_master.programs.jobs import verifier
from rsi_master.programs.jobs.keeping import Kept, prompts, write
from rsi_master.programs.jobs.result import Untrainable
from rsi_master.testing.sketch import solve

SAMPLERS: Final = {NAME: Program(entry=f"{__name__}:run")}


def run(folder: Path) -> None:
    """Each answer is right with the probability of the checkpoint's skill."""
    job = Job.model_validate(canonical.decode((folder / "job.json").read_bytes()))
    config = SampleConfig.model_validate(job.config)
    spec, kept = config.spec, Kept(config.spec)
    skill = float(load_file(folder / "in" / "init" / "model.safetensors")["skill"].mean())
    found = prompts(folder / "in", config.holds)
    rng = Random(spec.seed)
    try:
        verify = verifier.load(config.verifier)
        asked = [row.prompt for row in verifier.known(found, verify, kept.dropped)]
        rng.shuffle(asked)
        asked = asked[: spec.prompts]
        answers = [
            [f" {solve(text) if rng.random() < skill else 'no idea'}" for _ in range(spec.samples)]
            for text in asked
        ]
        kept.take(asked, answers, lambda text, one: verifier.points(verify, text, one))
    except Untrainable as problem:
        write(folder / "out", kept, problem.failure)
    else:
        write(folder / "out", kept)
