"""The embedded base: the published bytes, their size, and the digests that name a change."""

import json
import math
import re
import shutil
from pathlib import Path

import pytest

from rsi_master.programs.nano.weights import DigestError, base_folder, recorded, verify

WEIGHT_LIMIT = 4 * 1024 * 1024


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(base_folder(), tmp_path / "base"))


def test_the_embedded_base_is_the_published_one() -> None:
    verify()
    assert sum(path.stat().st_size for path in base_folder().iterdir()) < WEIGHT_LIMIT


def test_the_weights_are_single_precision_and_of_the_stated_size() -> None:
    body = (base_folder() / "model.safetensors").read_bytes()
    header = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    assert {tensor["dtype"] for tensor in tensors} == {"F32"}
    assert sum(math.prod(tensor["shape"]) for tensor in tensors) == 493_216


def test_a_flipped_byte_is_named(copy: Path) -> None:
    weights = copy / "model.safetensors"
    body = bytearray(weights.read_bytes())
    body[-1] ^= 1
    weights.write_bytes(body)
    with pytest.raises(DigestError, match=r"model\.safetensors"):
        verify(copy)


def test_a_missing_and_an_added_file_are_named(copy: Path) -> None:
    (copy / "tokenizer.json").unlink()
    with pytest.raises(DigestError, match=r"tokenizer\.json: sha256 is missing"):
        verify(copy)
    shutil.copy(base_folder() / "tokenizer.json", copy)
    (copy / "extra.py").write_text("", encoding="utf-8")
    with pytest.raises(DigestError, match=r"extra\.py.*recorded is nothing"):
        verify(copy)


def test_the_model_card_lists_the_recorded_digests() -> None:
    card = (base_folder() / "MODEL_CARD.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"\| `([^`]+)` \| `([0-9a-f]{64})` \|", card))
    wanted = recorded(base_folder())
    del wanted["MODEL_CARD.md"]
    assert table == wanted
