"""What the suite is made of: problems with their solutions, sealed items, rows of a pool."""

from dataclasses import dataclass
from random import Random
from typing import Protocol

from rsi_master.programs.nano.format import MARKER, SEPARATOR, Style, Task
from rsi_master.programs.nano.partition import Split


@dataclass(frozen=True, slots=True)
class Problem:
    """One question with its solution; `steps` are what a worked answer writes before the result."""

    task: Task
    key: str
    question: str
    steps: tuple[str, ...]
    reference: str

    @property
    def prompt(self) -> str:
        """The text exactly as the model reads it, from first to last character."""
        return f"Q: {self.question}?\nA:"

    def completion(self, style: Style) -> str:
        """Return the text that follows the prompt, without an end token."""
        if style == "direct":
            return f" {self.reference}"
        return " " + SEPARATOR.join((*self.steps, f"{MARKER} {self.reference}"))


@dataclass(frozen=True, slots=True)
class Item:
    """One sealed question: `key` names it in the partition, `id` is unique in a draw."""

    id: str
    task: Task
    prompt: str
    reference: str
    key: str


@dataclass(frozen=True, slots=True)
class Row:
    """One training row of a pool, rendered: the trainer adds only the end token."""

    prompt: str
    completion: str


class Generator(Protocol):
    """Draws a problem of one task whose key lies in `split`."""

    def __call__(self, rng: Random, split: Split) -> Problem: ...
