"""When two prompts are one question.

They are compared in plain characters without case, without runs of space, without space around
symbols that stand apart and without sentence punctuation at the ends of words. Symbols, signs and
the borders of words count: `12 + 3`, `12 - 3`, `-12 + 3` and `1 + 23` are four questions. Nothing
is found that says the same in other words or another notation.
"""

import unicodedata
from itertools import pairwise
from typing import Final

from rsi_master.programs.own.reading import plain

SENTENCE: Final = ".,;:?"
"""Punctuation that may end a word. No exclamation mark: `5!` is not 5."""


def key(prompt: str) -> str:
    """What the prompts of one question have in common."""
    words = plain(prompt).casefold().split()
    bare = [word.rstrip(SENTENCE) or word for word in words]
    parts = bare[:1]
    for before, word in pairwise(bare):
        parts += ["" if _is_tight(before, word) else " ", word]
    joined = "".join(parts)
    return joined.rstrip(SENTENCE + " ") or joined


def _is_tight(before: str, word: str) -> bool:
    """Whether the space between two words stands beside a symbol and tells nothing. That before a
    sign does: `5 -3` may be two numbers, `5 - 3` is one."""
    return _is_symbol(before[-1]) or all(map(_is_symbol, word))


def _is_symbol(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
