"""The length of a tokenizer, read from its file: a model without it decodes nothing, silently."""

import json
from pathlib import Path

from pydantic import BaseModel

from rsi_master.core.errors import Misuse


class _Added(BaseModel):
    content: str


class _Model(BaseModel):
    vocab: dict[str, int] | list[tuple[str, float]]


class _File(BaseModel):
    model: _Model
    added_tokens: list[_Added] = []


def length(checkpoint: Path) -> int | None:
    """How many tokens `tokenizer.json` knows, added ones included; None without that file."""
    path = checkpoint / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        known = _File.model_validate(json.loads(path.read_bytes()))
    except ValueError as cause:
        raise Misuse("BAD_TOKENIZER", f"{path.name} of the initial checkpoint: {cause}") from cause
    vocab = known.model.vocab
    words = set(vocab) if isinstance(vocab, dict) else {word for word, _ in vocab}
    return len(words | {token.content for token in known.added_tokens})
