"""A checkpoint small enough to train in a blink: Qwen3, two layers, random weights, no torch."""

import json
from pathlib import Path
from typing import Final

import numpy as np
from safetensors.numpy import save_file

WIDTH: Final = 32
INNER: Final = 64
HEAD: Final = 16
LAYERS: Final = 2


def write_tiny(folder: Path, vocabulary: int) -> None:
    """Create `folder` with `config.json` and `model.safetensors`; the tokenizer is the caller's."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    weights = {"model.norm.weight": np.ones(WIDTH)}
    for name, shape in _matrices(vocabulary).items():
        weights[name] = 0.1 * rng.standard_normal(shape)
    for layer in range(LAYERS):
        path = f"model.layers.{layer}"
        weights |= {f"{path}.self_attn.{name}_norm.weight": np.ones(HEAD) for name in "qk"}
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{path}.{name}.weight"] = np.ones(WIDTH)
    single = {name: value.astype(np.float32) for name, value in weights.items()}
    save_file(single, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(_configuration(vocabulary)), encoding="utf-8")


def _matrices(vocabulary: int) -> dict[str, tuple[int, int]]:
    shapes = {"model.embed_tokens.weight": (vocabulary, WIDTH)}
    for layer in range(LAYERS):
        path = f"model.layers.{layer}"
        shapes |= {f"{path}.self_attn.{name}_proj.weight": (WIDTH, WIDTH) for name in "qkvo"}
        shapes |= {f"{path}.mlp.{name}_proj.weight": (INNER, WIDTH) for name in ("gate", "up")}
        shapes[f"{path}.mlp.down_proj.weight"] = (WIDTH, INNER)
    return shapes


def _configuration(vocabulary: int) -> dict[str, object]:
    return {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "dtype": "float32",
        "vocab_size": vocabulary,
        "hidden_size": WIDTH,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": WIDTH // HEAD,
        "num_key_value_heads": WIDTH // HEAD,
        "head_dim": HEAD,
        "max_position_embeddings": 256,
        "tie_word_embeddings": True,
    }
