"""Answers drawn from a model: several to each prompt, batch by batch."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import GenerationConfig, PreTrainedModel, set_seed

from rsi_master.core.failure import Drop
from rsi_master.core.pace import SAMPLING_BATCH
from rsi_master.programs.jobs import training
from rsi_master.programs.jobs.rows import Tokenizer, ids


@dataclass(frozen=True, slots=True)
class Sampling:
    """`samples` answers to each prompt, of at most `tokens` tokens, from the whole distribution;
    equal seeds draw equal answers."""

    samples: int
    temperature: float
    tokens: int
    seed: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """An answer without special tokens, and whether it came to an end or was cut at its greatest
    length."""

    text: str
    ended: bool


def draw(
    model: PreTrainedModel, tokenizer: Tokenizer, prompts: Sequence[str], rules: Sampling
) -> list[list[Drawn]]:
    """The answers to each prompt, drawn on the device that there is. Each batch leaves a line in
    the log, which is a sign of life."""
    set_seed(rules.seed)
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    model.eval()
    neutral(model, tokenizer)
    padding = training.pad(tokenizer)
    generation = GenerationConfig(
        do_sample=True,
        temperature=rules.temperature,
        top_k=0,
        num_return_sequences=rules.samples,
        max_new_tokens=rules.tokens,
        pad_token_id=padding,
        eos_token_id=model.generation_config.eos_token_id,
    )
    share = max(1, SAMPLING_BATCH // rules.samples)
    found: list[list[Drawn]] = []
    for start in range(0, len(prompts), share):
        encoded = ids(tokenizer, list(prompts[start : start + share]), opening=True)
        drawn = _complete(model, tokenizer, encoded, generation)
        found += [drawn[at : at + rules.samples] for at in range(0, len(drawn), rules.samples)]
        print(f"drew answers to {len(found)} of {len(prompts)} prompts", flush=True)
    return found


def neutral(model: PreTrainedModel, tokenizer: Tokenizer) -> None:
    """Let nothing of the checkpoint's generation_config.json but its end tokens take part.

    Whatever a call of `generate` leaves open is taken from there (transformers 5,
    `_prepare_generation_config`): penalties, suppressed tokens, cut-offs of the distribution.
    """
    model.generation_config = GenerationConfig(eos_token_id=ends(model, tokenizer))


def ends(model: PreTrainedModel, tokenizer: Tokenizer) -> list[int]:
    """The tokens that end an answer: that of the tokenizer, and those that the model names."""
    named = model.generation_config.eos_token_id
    more = named if isinstance(named, list) else [] if named is None else [named]
    return list(dict.fromkeys((tokenizer.eos_token_id, *more)))


def whole(answers: Sequence[Sequence[Drawn]], dropped: Counter[Drop]) -> list[list[str]]:
    """The texts that came to an end; the others are counted. A row has an end token behind its
    answer, and behind one that was cut it would teach to stop in the middle."""
    cut: list[Drop] = ["cut" for several in answers for one in several if not one.ended]
    dropped.update(cut)
    return [[one.text for one in several if one.ended] for several in answers]


def _complete(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    encoded: Sequence[list[int]],
    generation: GenerationConfig,
) -> list[Drawn]:
    """The answers to a batch, in order; prompts are padded on the left."""
    longest = max(map(len, encoded))
    padding = generation.pad_token_id
    padded = [[padding] * (longest - len(one)) + one for one in encoded]
    mask = [[0] * (longest - len(one)) + [1] * len(one) for one in encoded]
    with torch.inference_mode():
        full = model.generate(
            input_ids=torch.tensor(padded, device=model.device),
            attention_mask=torch.tensor(mask, device=model.device),
            generation_config=generation,
        )
    answers = full[:, longest:]
    ends = torch.tensor(generation.eos_token_id, device=answers.device)
    texts = tokenizer.batch_decode(answers, skip_special_tokens=True)
    ended = torch.isin(answers, ends).any(dim=1).tolist()
    return [Drawn(*one) for one in zip(texts, ended, strict=True)]
