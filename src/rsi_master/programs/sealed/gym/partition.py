"""The fixed public partition of prompts: which split one belongs to depends on its words alone.

Words are those that the scanner compares. Their order does not count, since the least common
multiple of 6 and 4 is no new question after that of 4 and 6.
"""

import hashlib
from typing import Final, Literal

from rsi_master.core.score import Split
from rsi_master.programs.sealed.scanner import words

Part = Split | Literal["train"]

_SHARES: Final[dict[Part, int]] = {"train": 12, "dev": 2, "confirm": 2, "holdout": 2, "twin": 2}
_PART_OF_RESIDUE: Final = tuple(part for part, share in _SHARES.items() for _ in range(share))


def key(text: str) -> str:
    """The text without case, space and punctuation."""
    return "".join(words(text))


def name_of(question: str) -> str:
    """The same for questions of the same words in any order."""
    return " ".join(sorted(words(question)))


def part_of(question: str) -> Part:
    """The split of a question, or `train`."""
    digest = hashlib.sha256(name_of(question).encode()).digest()
    return _PART_OF_RESIDUE[int.from_bytes(digest) % len(_PART_OF_RESIDUE)]
