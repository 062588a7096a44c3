"""Each kind of step as the recipe that carries it out, and the rows that it is given."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.nano import material
from bench.nano.lab.made import Failed, Made
from bench.nano.lab.order import Order
from bench.nano.lab.training import Given, train
from bench.nano.lab.verified import contrast, passes
from bench.nano.steps import Dpo, Grpo, Merge, Part, Rejection, Sft

from rsi_master.core.artifact import Pair, Prompt, Row
from rsi_master.domains.training.dpo import DPO, DpoSpec
from rsi_master.domains.training.grpo import GRPO, GrpoSpec
from rsi_master.domains.training.merge import MERGE, MergeSpec
from rsi_master.domains.training.rejection import REJECTION, RejectionSpec
from rsi_master.domains.training.sft import SFT, SftSpec
from rsi_master.programs.jobs import checkpoint, sampling
from rsi_master.programs.jobs.sampling import Sampling
from rsi_master.programs.nano import weights
from rsi_master.programs.nano.format import ANSWER_TOKENS

JOB: Final = "job"


def sft(step: Sft, order: Order, folder: Path) -> Made:
    """Train on the step's parts for its steps, or for the updates that the order names."""
    steps = step.steps or order.updates
    if steps is None:
        raise Failed("bench: a step without a length, and no updates in its order")
    spec = SftSpec(
        learning_rate=step.rate, schedule=step.schedule, batch_size=step.batch, steps=steps
    )
    given = Given(order.inits[:1], rows=gather(step.parts, order.material))
    return train(SFT, spec, given, order.seed + step.shift, folder / JOB)


def grpo(step: Grpo, order: Order, folder: Path) -> Made:
    """Reinforce at a constant rate."""
    spec = GrpoSpec(
        learning_rate=step.rate,
        schedule="constant",
        warmup=0.0,
        steps=step.steps,
        prompts=step.prompts,
        samples=step.samples,
        temperature=step.temperature,
        answer_tokens=step.tokens,
    )
    given = Given(order.inits, rows=_prompts(step, order))
    return train(GRPO, spec, given, order.seed, folder / JOB)


def rejection(step: Rejection, order: Order, folder: Path) -> Made:
    """Sample, verify, train, as often as there are rounds."""
    spec = RejectionSpec(
        learning_rate=step.rate,
        rounds=step.rounds,
        prompts=step.prompts,
        samples=step.samples,
        temperature=step.temperature,
        answer_tokens=ANSWER_TOKENS,
        steps=step.steps,
        batch_size=step.batch,
    )
    kept = gather(step.keep, order.material) if step.keep else ()
    given = Given(order.inits, rows=_prompts(step, order), demonstrations=kept)
    return train(REJECTION, spec, given, order.seed, folder / JOB)


def dpo(step: Dpo, order: Order, folder: Path) -> Made:
    """Train against the checkpoint that it starts from, at a rate that falls in a line."""
    pairs = _own_pairs(step, order) if step.prompts else _given_pairs(step, order)
    if not pairs:
        raise Failed("bench: DPO without a pair")
    spec = DpoSpec(
        learning_rate=step.rate, schedule="linear", warmup=0.0, steps=step.steps, beta=step.beta
    )
    return train(DPO, spec, Given(order.inits, rows=pairs), order.seed, folder / JOB)


def merge(step: Merge, order: Order, folder: Path) -> Made:
    """Merge the checkpoints that the order names; TIES takes their changes to the base."""
    spec = MergeSpec(method=step.method, density=step.density, scale=step.scale)
    inits = (weights.base_folder(), *order.inits) if step.method == "ties" else order.inits
    return train(MERGE, spec, Given(inits), order.seed, folder / JOB)


MAKERS: Final[dict[str, Callable[[Any, Order, Path], Made]]] = {
    "sft": sft,
    "grpo": grpo,
    "rejection": rejection,
    "dpo": dpo,
    "merge": merge,
}


def gather(parts: Sequence[Part], folder: Path) -> list[Row]:
    """The rows of all parts; raises Failed where none is left."""
    rows = [row for part in parts for row in _rows(part, folder)]
    if not rows:
        raise Failed(f"bench: no row is left of {parts}")
    return rows


def _rows(part: Part, folder: Path) -> list[Row]:
    pool = material.pool(folder, part.source)
    if part.rows is None:
        rows = pool.of(Row, part.tasks)
    else:
        rows = [row for task in part.tasks for row in pool.of(Row, (task,))[: part.rows]]
    return [row for row in rows if not part.verified or passes(row)]


def _prompts(step: Grpo | Rejection | Dpo, order: Order) -> list[Prompt]:
    return material.pool(order.material, "nano/prompts").of(Prompt, step.tasks)


def _given_pairs(step: Dpo, order: Order) -> list[Pair]:
    return material.pool(order.material, "nano/pairs").of(Pair, step.tasks)


def _own_pairs(step: Dpo, order: Order) -> list[Pair]:
    prompts = [row.prompt for row in _prompts(step, order)]
    Random(order.seed).shuffle(prompts)
    asked, init = prompts[: step.prompts], order.inits[0]
    rules = Sampling(step.samples, temperature=1.0, tokens=ANSWER_TOKENS, seed=order.seed)
    drawn = sampling.draw(checkpoint.model(init), checkpoint.tokenizer(init), asked, rules)
    answers = sampling.whole(drawn, Counter())
    found = (contrast(*both) for both in zip(asked, answers, strict=True))
    return [pair for pair in found if pair is not None]
