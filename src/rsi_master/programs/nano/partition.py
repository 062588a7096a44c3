"""The fixed public partition of each task's prompt space.

A prompt belongs to a split by a hash of its canonical key alone, so no draw, seed or author can
move a prompt from one split to another.
"""

import hashlib
import unicodedata
from typing import Final, Literal, get_args

Split = Literal["pretrain", "train", "practice", "dev", "confirm", "holdout", "twin"]
SPLITS: Final[tuple[Split, ...]] = get_args(Split)

_MODULUS: Final = 20
_SHARES: Final[dict[Split, int]] = {
    "pretrain": 4,
    "train": 7,
    "practice": 1,
    "dev": 2,
    "confirm": 2,
    "holdout": 2,
    "twin": 2,
}
_SPLIT_OF_RESIDUE: Final = tuple(split for split, share in _SHARES.items() for _ in range(share))


def split_of(task: str, key: str) -> Split:
    """Return the split of the prompts of `task` that share the canonical `key`."""
    digest = hashlib.sha256(f"{task}:{key}".encode()).digest()
    return _SPLIT_OF_RESIDUE[int.from_bytes(digest) % _MODULUS]


def normalised(text: str) -> str:
    """Return `text` without case, space and punctuation: equal forms are the same prompt."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if char.isalnum())
