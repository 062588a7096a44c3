"""What the training of a step left: the file of its weights, and how much it did."""

from dataclasses import dataclass
from pathlib import Path


class Failed(RuntimeError):
    """A step gave no weights; the message says why."""


@dataclass(frozen=True, slots=True)
class Made:
    """`updates` are optimiser steps and `rows` the rows that they were taken on."""

    weights: Path
    updates: int = 0
    rows: int = 0
