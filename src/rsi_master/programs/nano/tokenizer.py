"""The tokenizer of nano: a fixed vocabulary of characters, syllables and words of the lexicon.

A text is cut into the fewest pieces (a unigram model whose longer pieces cost less than their
parts); digits stand alone, and any ASCII text can be spelled.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer, decoders, models

from rsi_master.programs.nano import lexicon

PAD: Final = "<pad>"
UNKNOWN: Final = "<unk>"
BEGIN: Final = "<bos>"
END: Final = "<eos>"
SPECIALS: Final = (PAD, UNKNOWN, BEGIN, END)
ALPHABET: Final = (*(chr(code) for code in range(32, 127)), "\n")
CONTEXT: Final = 256

_PIECE: Final = -1.0
_CHARACTER: Final = -1.5
_OPERATIONS: Final = (
    *("add", "sub", "from", "times", "div", "mod", "most", "least", "double", "negate", "abs"),
    *("min", "max"),
)
_GRAMMAR: Final = (
    *("home", "has", "list", "first", "last", "no", "ill", "with", "avoid", "answer", "or"),
    *("i", "do", "not", "know", "x"),
)


def _words() -> Iterator[str]:
    groups: tuple[tuple[str, ...], ...] = (
        *(lexicon.OWNERS, lexicon.THINGS, lexicon.GAINS, lexicon.LOSSES, lexicon.FUNCTIONS),
        *(lexicon.SYMPTOMS, lexicon.REMEDIES, _OPERATIONS, _GRAMMAR),
    )
    for group in (*groups, *lexicon.THEMES.values()):
        yield from group
    yield from (*lexicon.THEMES, *_arguments())


def _arguments() -> Iterator[str]:
    """Yield the words that also follow a bracket or a comma without a space."""
    yield from (*lexicon.NUMBERED, *lexicon.WORDED, "min", "max", "abs")
    for values in lexicon.WORDED.values():
        yield from values


def _pieces() -> Iterator[str]:
    yield from (f" {word}" for word in _words() if len(word) > 1)
    yield from (f" {syllable}" for syllable in lexicon.SYLLABLES)
    yield from lexicon.SYLLABLES
    yield from _arguments()
    yield from ("//", "Q:", "A:")


PIECES: Final = tuple(dict.fromkeys(_pieces()))
VOCABULARY: Final = (*SPECIALS, *ALPHABET, *PIECES)
PAD_ID: Final = VOCABULARY.index(PAD)
BEGIN_ID: Final = VOCABULARY.index(BEGIN)
END_ID: Final = VOCABULARY.index(END)


def build() -> Tokenizer:
    """Return the tokenizer; unknown characters become `<unk>`."""
    costs = [(token, 0.0) for token in SPECIALS]
    costs += [(character, _CHARACTER) for character in ALPHABET]
    costs += [(piece, _PIECE) for piece in PIECES]
    tokenizer = Tokenizer(models.Unigram(costs, SPECIALS.index(UNKNOWN), byte_fallback=False))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.add_special_tokens(list(SPECIALS))
    return tokenizer


def save(folder: Path) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`, as `AutoTokenizer` reads them."""
    build().save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "pad_token": PAD,
        "unk_token": UNKNOWN,
        "bos_token": BEGIN,
        "eos_token": END,
        "model_max_length": CONTEXT,
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
    }
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
