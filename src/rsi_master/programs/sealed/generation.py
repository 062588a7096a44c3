"""Greedy generation by transformers, from bytes alone: no file is opened, no model code is run."""

import json
from collections.abc import Sequence

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

from rsi_master.core.errors import SealUnavailable
from rsi_master.domains.training.tensors import Tensor
from rsi_master.programs.sealed.benchmark import Base, Decoding
from rsi_master.programs.sealed.weights import Weights

_DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class CausalModel:
    """A causal language model of the base's configuration with the base's tokenizer.

    Equal weights give equal outputs on one machine at the same batch size and thread count.
    """

    def __init__(self, base: Base, decoding: Decoding) -> None:
        torch.set_num_threads(1)
        shape = json.loads(base.files["config.json"])
        config = AutoConfig.for_model(**shape)
        dtype = _DTYPES[next(iter(base.weights.tensors.values())).dtype]
        self._model = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
        self._tied = {name for name, _ in self._model.named_parameters(remove_duplicate=False)} - {
            name for name, _ in self._model.named_parameters()
        }
        self._tokens = _tokenizer(base, config.vocab_size)
        pad, end = config.pad_token_id, config.eos_token_id
        self._tokens.enable_padding(
            direction="left", pad_id=pad, pad_token=_text(self._tokens, pad)
        )
        self._rules = GenerationConfig(
            do_sample=False,
            max_new_tokens=decoding.max_new_tokens,
            pad_token_id=pad,
            eos_token_id=end,
        )
        self.load(base.weights)

    def load(self, weights: Weights) -> None:
        """Take these tensors; tied ones may be absent. Raises SealUnavailable for others."""
        state = {name: _tensor(tensor) for name, tensor in weights.tensors.items()}
        missing, unexpected = self._model.load_state_dict(state, strict=False)
        if set(missing) - self._tied or unexpected:
            raise SealUnavailable(
                "SEAL_BASE", f"the base's config.json does not fit its weights: {missing[:3]}"
            )

    def complete(self, prompts: Sequence[str]) -> list[str]:
        """One output for each prompt; prompts of one batch are padded on the left."""
        encoded = self._tokens.encode_batch(list(prompts))
        ids = torch.tensor([one.ids for one in encoded])
        mask = torch.tensor([one.attention_mask for one in encoded])
        with torch.inference_mode():
            full = self._model.generate(
                input_ids=ids, attention_mask=mask, generation_config=self._rules
            )
        return self._tokens.decode_batch(full[:, ids.shape[1] :].tolist(), skip_special_tokens=True)


def _tokenizer(base: Base, size: int) -> Tokenizer:
    tokens = Tokenizer.from_str(base.files["tokenizer.json"].decode())
    if not 0 < tokens.get_vocab_size() <= size:
        found = tokens.get_vocab_size()
        raise SealUnavailable("SEAL_BASE", f"tokenizer of {found} tokens for a model of {size}")
    return tokens


def _text(tokens: Tokenizer, number: int | None) -> str:
    text = tokens.id_to_token(number) if number is not None else None
    if text is None:
        raise SealUnavailable("SEAL_BASE", f"pad token {number} is not in the base's tokenizer")
    return str(text)


def _tensor(tensor: Tensor) -> torch.Tensor:
    flat = torch.frombuffer(bytearray(tensor.data), dtype=_DTYPES[tensor.dtype])
    return flat.reshape(tensor.shape)
