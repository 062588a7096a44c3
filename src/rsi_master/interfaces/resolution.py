"""What difference between two checkpoints so many items can show."""

from collections.abc import Mapping
from typing import Final, get_args

from rsi_master.core.score import Split
from rsi_master.stats.power import detectable_difference

DISCORDANT: Final = 0.3
"""The share of items on which two checkpoints are taken to differ: not known before they are
scored. With a share of 0.1 differences of a good half of the size would show."""
ASSUMED: Final = (
    f"at 5 %, with 80 % power, if two checkpoints differ on {100 * DISCORDANT:g} % of the items; "
    "items that hang together show less"
)


def resolution(sizes: Mapping[Split, int]) -> str:
    """`9.1 points on dev, …`: the smallest true difference that each split shows. Of a split
    without items nothing is told."""
    told = [(split, sizes.get(split, 0)) for split in get_args(Split)]
    return ", ".join(f"{_smallest(size)} on {split}" for split, size in told if size)


def blind(sizes: Mapping[Split, int]) -> bool:
    """Whether the holdout can show no difference at all, so that no run on it ends with a champion
    but by chance."""
    size = sizes.get("holdout", 0)
    return size == 0 or detectable_difference(size, DISCORDANT) is None


def _smallest(items: int) -> str:
    found = detectable_difference(items, DISCORDANT)
    return "no difference" if found is None else f"{100 * found:.1f} points"
