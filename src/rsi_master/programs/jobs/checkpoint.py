"""Checkpoints as training programs read and write them: safetensors and a tokenizer, no network."""

import json
from pathlib import Path
from typing import Final

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors import safe_open
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from rsi_master.programs.jobs.result import Untrainable
from rsi_master.programs.jobs.rows import Tokenizer

WEIGHTS: Final = "model.safetensors"


def tokenizer(init: Path) -> Tokenizer:
    """The tokenizer beside the weights. Without its file, transformers makes up an empty one."""
    if not (init / "tokenizer.json").is_file():
        raise Untrainable("WRONG_TOKENIZER", "the initial checkpoint has no tokenizer.json")
    found = AutoTokenizer.from_pretrained(init, local_files_only=True)
    if found.eos_token_id is None:
        raise Untrainable("WRONG_TOKENIZER", "the tokenizer of the initial checkpoint has no end")
    return found  # type: ignore[no-any-return]


def context(init: Path) -> int:
    """How many tokens, prompt and answer, the model was made for."""
    shape = json.loads((init / "config.json").read_text(encoding="utf-8"))
    found = shape.get("max_position_embeddings")
    if not isinstance(found, int):
        told = "the config.json of the initial checkpoint has no max_position_embeddings"
        raise Untrainable("WRONG_INIT", told)
    return found


def model(init: Path) -> PreTrainedModel:
    """The initial model in single precision; refused when a weight would be made up or ignored."""
    if not (init / WEIGHTS).is_file():
        raise Untrainable("WRONG_INIT", f"the initial checkpoint has no {WEIGHTS}")
    found, report = AutoModelForCausalLM.from_pretrained(
        init,
        dtype=torch.float32,
        local_files_only=True,
        use_safetensors=True,
        output_loading_info=True,
    )
    odd = sorted({str(name) for kind in report.values() for name in kind})
    if odd:
        raise Untrainable("WRONG_INIT", f"initial weights do not fit their config.json: {odd[:3]}")
    return found


def save_adapter(trained: PeftModel, folder: Path) -> None:
    """The adapter in PEFT's form, without the path of the initial model."""
    folder.mkdir()
    weights = {
        name: value.contiguous() for name, value in get_peft_model_state_dict(trained).items()
    }
    save_file(weights, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = trained.peft_config["default"].to_dict()
    config |= {"base_model_name_or_path": None, "inference_mode": True}
    plain = {
        key: sorted(value) if isinstance(value, set) else value for key, value in config.items()
    }
    text = json.dumps(plain, indent=2, sort_keys=True) + "\n"
    (folder / "adapter_config.json").write_text(text, encoding="utf-8")


def save(trained: PreTrainedModel, init: Path, target: Path) -> None:
    """Write the tensors that the initial file names, in its types; tied copies stay out."""
    state = trained.state_dict()
    with safe_open(init, framework="pt") as stored:
        weights = {
            name: state[name].to(stored.get_tensor(name).dtype).contiguous()
            for name in stored.keys()  # noqa: SIM118 (the handle is no mapping)
        }
    for name, value in weights.items():
        if not torch.isfinite(value).all():
            raise Untrainable("NOT_FINITE", f"{name} holds NaN or infinity after the last step")
    save_file(weights, target, metadata={"format": "pt"})
