"""Answers drawn from a model: several to each prompt, batch by batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import GenerationConfig, PreTrainedModel, set_seed

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


def draw(
    model: PreTrainedModel, tokenizer: Tokenizer, prompts: Sequence[str], rules: Sampling
) -> list[list[str]]:
    """The answers to each prompt, without special tokens.

    An answer that was cut at its greatest length is as it was cut. Each batch leaves a line in the
    log, which is a sign of life.
    """
    set_seed(rules.seed)
    model.eval()
    padding = training.pad(tokenizer)
    generation = GenerationConfig(
        do_sample=True,
        temperature=rules.temperature,
        top_k=0,
        num_return_sequences=rules.samples,
        max_new_tokens=rules.tokens,
        pad_token_id=padding,
        eos_token_id=model.generation_config.eos_token_id or tokenizer.eos_token_id,
    )
    share = max(1, SAMPLING_BATCH // rules.samples)
    found: list[list[str]] = []
    for start in range(0, len(prompts), share):
        encoded = ids(tokenizer, list(prompts[start : start + share]), opening=True)
        texts = _complete(model, tokenizer, encoded, generation)
        found += [texts[at : at + rules.samples] for at in range(0, len(texts), rules.samples)]
        print(f"drew answers to {len(found)} of {len(prompts)} prompts", flush=True)
    return found


def _complete(
    model: PreTrainedModel,
    tokenizer: Tokenizer,
    encoded: Sequence[list[int]],
    generation: GenerationConfig,
) -> list[str]:
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
    return tokenizer.batch_decode(full[:, longest:], skip_special_tokens=True)
