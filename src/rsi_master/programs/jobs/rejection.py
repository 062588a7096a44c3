"""Rejection-sampling fine-tuning: supervised steps on own answers that the verifier finds right."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from peft import PeftModel
from transformers import PreTrainedModel

from rsi_master.core.artifact import Prompt, Row
from rsi_master.core.failure import Drop
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.rejection import RejectionSpec
from rsi_master.programs.jobs import (
    checkpoint,
    judge,
    rows,
    sampling,
    supervised,
    training,
    verifier,
)
from rsi_master.programs.jobs.result import Untrainable
from rsi_master.programs.jobs.sampling import Sampling
from rsi_master.programs.jobs.training import Work
from rsi_master.programs.jobs.verifier import Verifier


def run(folder: Path) -> None:
    """Carry the job out."""
    training.run(folder, TrainConfig[RejectionSpec], _train)


def _train(work: Work[RejectionSpec]) -> PreTrainedModel | PeftModel:
    spec, dropped, found = work.spec, work.progress.dropped, rows.load(work.inputs, Prompt)
    verify = judge.load(found) if spec.verifier else verifier.load(work.config.verifier, found)
    known = verifier.known(found, verify, dropped)
    asked = rows.fitting(
        known, work.tokenizer, work.room(spec.max_length, spec.answer_tokens), dropped
    )
    work.plan(len(asked))
    Random(work.config.seed).shuffle(asked)
    kept = rows.load(work.inputs, Row, "demonstrations")
    model: PreTrainedModel | PeftModel = checkpoint.model(work.init)
    lost: Counter[Drop] = Counter()
    for turn in range(spec.rounds):
        if isinstance(model, PeftModel):
            model = model.merge_and_unload()
        right = _right(work, model, _share(asked, turn, spec.prompts), verify, turn)
        # What did not fit is offered again with what is new, and counted once.
        dropped -= lost
        kept, lost = _distinct([*kept, *right]), Counter()
        encoded = rows.encode(kept, work.tokenizer, work.room(spec.max_length), lost)
        dropped += lost
        work.plan(len(encoded.ids))
        model = supervised.fit(work, model, encoded, spec.steps, before=turn * spec.steps)
    return model


def _share(asked: Sequence[Prompt], turn: int, count: int) -> list[str]:
    """The prompts of a round: the next `count`, from the first again after the last, each once."""
    count = min(count, len(asked))
    return [asked[at % len(asked)].prompt for at in range(turn * count, (turn + 1) * count)]


def _right(
    work: Work[RejectionSpec],
    model: PreTrainedModel,
    asked: Sequence[str],
    verify: Verifier,
    turn: int,
) -> list[Row]:
    """Own whole answers that have all points; raises Untrainable where no answer has."""
    spec = work.spec
    seed = Random(f"{work.config.seed} {turn}").getrandbits(32)
    rules = Sampling(spec.samples, spec.temperature, spec.answer_tokens, seed)
    drawn = sampling.draw(model, work.tokenizer, asked, rules)
    answers = sampling.whole(drawn, work.progress.dropped)
    right = [
        Row(prompt=prompt, completion=text)
        for prompt, texts in zip(asked, answers, strict=True)
        for text in texts
        if verifier.points(verify, prompt, text) == 1.0
    ]
    if not right:
        cut = spec.samples * len(asked) - sum(map(len, answers))
        raise Untrainable(
            "NO_RIGHT_ANSWER",
            f"none of {spec.samples} answers to each of {len(asked)} prompts passed the verifier, "
            f"{cut} had no end after {spec.answer_tokens} tokens; start from a "
            "checkpoint that is right at times",
        )
    return right


def _distinct(several: Sequence[Row]) -> list[Row]:
    """Each row once, in order of appearance."""
    return list({(row.prompt, row.completion): row for row in several}.values())
