"""The tokenizer: a written-down vocabulary that loses nothing of an ASCII text."""

import string
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from rsi_master.programs.nano import tokenizer as pieces
from rsi_master.programs.nano.format import TASKS
from rsi_master.programs.nano.generator.corpus import documents
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.partition import SPLITS
from rsi_master.programs.nano.weights import base_folder

SIZE = 518
BUILT = pieces.build()

_PLAIN = st.text(st.sampled_from(pieces.ALPHABET)).filter(
    lambda text: not any(special in text for special in pieces.SPECIALS)
)
_SPLICED = st.lists(st.sampled_from((*pieces.PIECES, *pieces.ALPHABET))).map("".join)


@given(st.one_of(_PLAIN, _SPLICED))
def test_any_ascii_text_comes_back(text: str) -> None:
    encoded = BUILT.encode(text)
    assert BUILT.decode(encoded.ids) == text
    assert "".join(encoded.tokens) == text
    assert pieces.UNKNOWN not in encoded.tokens
    assert not set(encoded.ids) & {pieces.PAD_ID, pieces.BEGIN_ID, pieces.END_ID}


@given(st.text(st.characters(min_codepoint=128), min_size=1), _PLAIN)
def test_unknown_characters_become_the_unknown_token(odd: str, plain: str) -> None:
    unknown = pieces.VOCABULARY.index(pieces.UNKNOWN)
    ids = BUILT.encode(f"{plain}{odd}{plain}").ids
    assert unknown in ids
    assert BUILT.decode(ids, skip_special_tokens=True) == plain + plain


@given(st.text(f"{string.digits} ,x", min_size=1))
def test_digits_stand_alone(text: str) -> None:
    tokens = BUILT.encode(text).tokens
    assert [t for t in tokens if any(char in string.digits for char in t) and len(t) > 1] == []


def test_the_vocabulary_is_distinct_and_its_ids_are_its_places() -> None:
    assert len(pieces.VOCABULARY) == len(set(pieces.VOCABULARY)) == SIZE
    assert BUILT.get_vocab_size() == SIZE
    assert BUILT.get_vocab() == {token: place for place, token in enumerate(pieces.VOCABULARY)}
    assert (pieces.PAD_ID, pieces.BEGIN_ID, pieces.END_ID) == (0, 2, 3)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (" answer 12", [" answer", " ", "1", "2"]),
        (" lion hare", [" lion", " hare"]),
        ("badefu", ["ba", "de", "fu"]),
        (" badefu home", [" ba", "de", "fu", " home"]),
        ("min(x//2,abs(x))", ["min", "(", "x", "//", "2", ",", "abs", "(", "x", ")", ")"]),
        ("dim(level,hour)", None),
        ("\nA: 3", ["\n", "A:", " ", "3"]),
        ("QA", ["Q", "A"]),
    ],
)
def test_a_text_is_cut_into_the_fewest_pieces(text: str, tokens: list[str] | None) -> None:
    found = BUILT.encode(text).tokens
    assert tokens is None or found == tokens
    assert len(found) == _fewest(text)


def _fewest(text: str) -> int:
    """The least number of pieces of the vocabulary that spell `text`, by dynamic programming."""
    vocabulary = {*pieces.ALPHABET, *pieces.PIECES}
    best = [0]
    for end in range(1, len(text) + 1):
        best.append(1 + min(best[s] for s in range(end) if text[s:end] in vocabulary))
    return best[-1]


def test_no_text_of_the_suite_needs_an_unknown_token_and_all_are_short() -> None:
    texts = [*islice(_problems(), 1400)]
    for phase in ("knowledge", "questions"):
        texts += islice(documents(Random(1), phase), 500)
    encoded = BUILT.encode_batch(texts)
    assert not any(pieces.UNKNOWN in one.tokens for one in encoded)
    pieced, spelled = sum(len(one.ids) for one in encoded), sum(map(len, texts))
    assert pieced < 0.5 * spelled


def _problems() -> Iterator[str]:
    rng = Random(2)
    while True:
        for task in TASKS:
            for split in SPLITS:
                problem = GENERATORS[task](rng, split)
                yield problem.prompt + problem.right.completion("scratchpad")


def test_the_stored_tokenizer_is_the_built_one(tmp_path: Path) -> None:
    stored = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    assert stored.to_str() == BUILT.to_str()
    pieces.save(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (base_folder() / name).read_bytes() == (tmp_path / name).read_bytes()


def test_transformers_loads_what_is_saved_with_its_special_ids(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    pieces.save(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert len(loaded) == loaded.vocab_size == SIZE
    assert loaded.convert_ids_to_tokens([0, 1, 2, 3]) == ["<pad>", "<unk>", "<bos>", "<eos>"]
    assert (loaded.pad_token_id, loaded.unk_token_id) == (pieces.PAD_ID, 1)
    assert (loaded.bos_token_id, loaded.eos_token_id) == (pieces.BEGIN_ID, pieces.END_ID)
    assert (loaded.padding_side, loaded.model_max_length) == ("left", pieces.CONTEXT)
    for text in ("Q: x, add 3, double?\nA: (x+3)*2", " 1 lion ,  2 bear .", "don 't  , a . b"):
        assert loaded(text)["input_ids"] == BUILT.encode(text).ids
        assert loaded.decode(loaded(text)["input_ids"]) == text
    assert loaded.decode([2, *BUILT.encode(" 12").ids, 3, 0], skip_special_tokens=True) == " 12"
