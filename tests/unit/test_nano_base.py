"""The embedded base: the published bytes, their size, and the digests that name a change."""

import json
import math
import re
import shutil
from pathlib import Path

import pytest

from rsi_master.programs.nano import judge
from rsi_master.programs.nano.weights import DigestError, base_folder, recorded, verify

WEIGHT_LIMIT = 4 * 1024 * 1024
NARROW = Path(__file__).parents[1] / "bases" / "narrow"
FOLDERS = {"embedded": (base_folder(), 632_640), "narrow": (NARROW, 493_216)}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(base_folder(), tmp_path / "base"))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_base_is_the_published_one(name: str) -> None:
    folder, _ = FOLDERS[name]
    verify(folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) < WEIGHT_LIMIT


@pytest.mark.parametrize("name", FOLDERS)
def test_the_weights_are_single_precision_and_of_the_stated_size(name: str) -> None:
    folder, parameters = FOLDERS[name]
    body = (folder / "model.safetensors").read_bytes()
    header = json.loads(body[8 : 8 + int.from_bytes(body[:8], "little")])
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    assert {tensor["dtype"] for tensor in tensors} == {"F32"}
    assert sum(math.prod(tensor["shape"]) for tensor in tensors) == parameters
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"{parameters:,} parameters" in card


def test_the_two_bases_differ_in_width_and_share_the_tokenizer() -> None:
    assert recorded(NARROW)["tokenizer.json"] == recorded(base_folder())["tokenizer.json"]
    widths = {
        json.loads((folder / "config.json").read_text(encoding="utf-8"))["hidden_size"]
        for folder, _ in FOLDERS.values()
    }
    assert widths == {96, 128}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_base_scores_within_its_published_interval(name: str) -> None:
    """The judge of a rebuild takes the published weights themselves."""
    folder, _ = FOLDERS[name]
    found, wanted = judge.scores(folder), judge.Interval.published(folder)
    told = json.loads((folder / judge.SCORES).read_text(encoding="utf-8"))
    assert wanted.low < found.average < wanted.high
    assert found.average == pytest.approx(told["average"], abs=0.02)
    assert 0.10 <= found.average <= 0.30
    assert max(found.tasks.values()) < 1.0


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


@pytest.mark.parametrize("name", FOLDERS)
def test_the_model_card_lists_the_recorded_digests(name: str) -> None:
    folder, _ = FOLDERS[name]
    card = (folder / "MODEL_CARD.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"\| `([^`]+)` \| `([0-9a-f]{64})` \|", card))
    wanted = recorded(folder)
    del wanted["MODEL_CARD.md"]
    assert table == wanted
