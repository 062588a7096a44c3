"""Scores as numbers to compare by."""

from typing import Final

from rsi_master.core.score import Scored, SplitScore

NONE: Final = -1.0
"""Below all scores."""


def value(score: SplitScore | None) -> float:
    """The average of a score, or `NONE` without one."""
    return score.average.value if score and isinstance(score.average, Scored) else NONE
