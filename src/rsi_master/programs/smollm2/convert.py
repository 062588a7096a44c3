"""From a quantised GGUF file to a model folder of safetensors in single precision.

Single precision, though the file has four bits a weight: a checkpoint is stored in the types of
its base, half precision would round small updates away, and CPUs generate slower with it.
"""

from pathlib import Path
from typing import Final

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

CARD: Final = "MODEL_CARD.md"


def convert(source: Path, folder: Path, card: str) -> None:
    """Write weights, configuration, tokenizer and `card` into the existing `folder`.

    Nothing is downloaded. Raises ValueError when the tokenizer does not fit the weights.
    """
    model = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32, local_files_only=True
    )
    tokenizer = AutoTokenizer.from_pretrained(
        source.parent, gguf_file=source.name, local_files_only=True
    )
    if len(tokenizer) != model.config.vocab_size:
        raise ValueError(
            f"{source.name}: {len(tokenizer)} tokens for a model of {model.config.vocab_size}"
        )
    _plain(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for path in folder.iterdir():
        path.chmod(0o644)
    (folder / CARD).write_text(card, encoding="utf-8")


def _plain(model: PreTrainedModel) -> None:
    """Take off the marks of quantisation: the weights were expanded when they were read."""
    model.hf_quantizer = None
    model.is_quantized = False
    model.quantization_method = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
