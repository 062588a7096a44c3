"""Sampled answers of a checkpoint, batch by batch, several to a prompt."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch
from transformers import AutoTokenizer, GenerationConfig

from rsi_master.programs.jobs import checkpoint
from rsi_master.programs.nano.format import ANSWER_TOKENS

BATCH: Final = 128


@dataclass(frozen=True, slots=True)
class Sampling:
    """`samples` answers to each prompt at this temperature."""

    samples: int
    temperature: float
    seed: int


def sample(init: Path, prompts: Sequence[str], sampling: Sampling) -> list[list[str]]:
    """The answers to each prompt, without special tokens."""
    torch.manual_seed(sampling.seed)
    tokenizer = AutoTokenizer.from_pretrained(init, local_files_only=True, padding_side="left")
    model = checkpoint.model(init).eval()
    rules = GenerationConfig(
        do_sample=True,
        temperature=sampling.temperature,
        top_k=0,
        num_return_sequences=sampling.samples,
        max_new_tokens=ANSWER_TOKENS,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    share = max(1, BATCH // sampling.samples)
    found: list[list[str]] = []
    for start in range(0, len(prompts), share):
        batch = tokenizer(list(prompts[start : start + share]), return_tensors="pt", padding=True)
        with torch.inference_mode():
            full = model.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                generation_config=rules,
            )
        new = full[:, batch["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        found += [
            texts[at : at + sampling.samples] for at in range(0, len(texts), sampling.samples)
        ]
    return found
