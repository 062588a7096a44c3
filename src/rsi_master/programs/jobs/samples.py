"""Draws answers of a checkpoint and keeps what the benchmark's open verifier says is worth it.

Reads `job.json`, `in/init` (a checkpoint folder) and `in/data.jsonl`; writes `out/rows.jsonl` and,
last, `out/result.json`. What allows no rows is data in the result, and no crash.
"""

from pathlib import Path
from random import Random

import torch

from rsi_master.core import canonical
from rsi_master.core.job import Job
from rsi_master.domains.data.samples import SampleConfig
from rsi_master.programs.jobs import checkpoint, rows, sampling, verifier
from rsi_master.programs.jobs.keeping import Kept, prompts, write
from rsi_master.programs.jobs.result import Untrainable
from rsi_master.programs.jobs.sampling import Sampling


def run(folder: Path) -> None:
    """Carry the job out."""
    job = Job.model_validate(canonical.decode((folder / "job.json").read_bytes()))
    config = SampleConfig.model_validate(job.config)
    torch.set_num_threads(config.threads)
    kept = Kept(config.spec)
    try:
        _sample(folder / "in", config, kept)
    except Untrainable as problem:
        write(folder / "out", kept, problem.failure)
    else:
        write(folder / "out", kept)


def _sample(inputs: Path, config: SampleConfig, kept: Kept) -> None:
    spec, init = config.spec, inputs / "init"
    tokenizer = checkpoint.tokenizer(init)
    found = prompts(inputs, config.holds)
    verify = verifier.load(config.verifier, found)
    model = checkpoint.model(init)
    room = checkpoint.context(init) - spec.answer_tokens
    fit = rows.fitting(verifier.known(found, verify, kept.dropped), tokenizer, room, kept.dropped)
    asked = list(dict.fromkeys(row.prompt for row in fit))
    if not asked:
        dropped = dict(sorted(kept.dropped.items()))
        raise Untrainable("NO_ROWS", f"no prompt is left to ask; dropped: {dropped}")
    Random(spec.seed).shuffle(asked)
    asked = asked[: spec.prompts]
    rules = Sampling(spec.samples, spec.temperature, spec.answer_tokens, spec.seed)
    answers = sampling.whole(sampling.draw(model, tokenizer, asked, rules), kept.dropped)
    kept.drawn += kept.dropped["cut"]
    kept.take(asked, answers, lambda prompt, text: verifier.points(verify, prompt, text))
