"""The embedded base: the published bytes, its tokenizer, and a corpus that keeps to its split."""

import json
import math
import re
import shutil
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from tokenizers import Tokenizer

from rsi_master.programs.nano import tokenizer as characters
from rsi_master.programs.nano.format import MARKER, TASKS
from rsi_master.programs.nano.generator.corpus import documents
from rsi_master.programs.nano.generator.problem import Problem
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.partition import SPLITS, Split
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
    assert sum(math.prod(tensor["shape"]) for tensor in tensors) == 453_088


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


def test_the_tokenizer_is_the_built_one_and_keeps_every_character() -> None:
    stored = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    assert stored.to_str() == characters.build().to_str()
    assert stored.get_vocab_size() == len(characters.VOCABULARY) == 100
    text = "".join(characters.ALPHABET) + "  A:\n\nx"
    ids = stored.encode(text).ids
    assert len(ids) == len(text)
    assert stored.decode(ids) == text
    config = json.loads((base_folder() / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["pad_token"] != config["eos_token"]


def test_the_corpus_holds_only_questions_of_its_own_split_and_no_worked_answer() -> None:
    read = "\n".join(islice(documents(Random(5)), 6000))
    own = [problem.question for problem in _problems(("pretrain",))]
    assert sum(question in read for question in own) > 100
    others = _problems(tuple(set(SPLITS) - {"pretrain"}))
    assert [problem.question for problem in others if problem.question in read] == []
    assert MARKER not in read


def test_the_corpus_follows_its_seed() -> None:
    first, again, other = (list(islice(documents(Random(s)), 50)) for s in (1, 1, 2))
    assert first == again != other


def _problems(splits: tuple[Split, ...]) -> list[Problem]:
    rng = Random(13)
    return [GENERATORS[task](rng, split) for task in TASKS for split in splits for _ in range(200)]
