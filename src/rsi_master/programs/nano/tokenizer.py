"""The character tokenizer of nano: 4 special tokens, ASCII 32 to 126 and the newline."""

import json
from pathlib import Path
from typing import Final

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

PAD: Final = "<pad>"
UNKNOWN: Final = "<unk>"
BEGIN: Final = "<bos>"
END: Final = "<eos>"
SPECIALS: Final = (PAD, UNKNOWN, BEGIN, END)
ALPHABET: Final = (*(chr(code) for code in range(32, 127)), "\n")
VOCABULARY: Final = (*SPECIALS, *ALPHABET)
PAD_ID: Final = VOCABULARY.index(PAD)
BEGIN_ID: Final = VOCABULARY.index(BEGIN)
END_ID: Final = VOCABULARY.index(END)
CONTEXT: Final = 256


def build() -> Tokenizer:
    """Return the tokenizer: one id a character, unknown characters become `<unk>`."""
    vocabulary = {token: number for number, token in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
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
