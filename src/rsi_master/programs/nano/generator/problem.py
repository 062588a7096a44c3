"""What the suite is made of: problems with a right and a careless answer, and sealed items."""

from dataclasses import dataclass
from random import Random
from typing import Protocol

from rsi_master.programs.nano.format import MARKER, SEPARATOR, Style, Task, prompt_of
from rsi_master.programs.nano.partition import Split


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, and the `steps` that a worked answer writes before it."""

    steps: tuple[str, ...]
    result: str

    def completion(self, style: Style) -> str:
        """Return the text that follows the prompt, without an end token."""
        if style == "direct":
            return f" {self.result}"
        return " " + SEPARATOR.join((*self.steps, f"{MARKER} {self.result}"))


@dataclass(frozen=True, slots=True)
class Problem:
    """One question with its answer, and the answer of somebody who makes the usual mistake."""

    task: Task
    key: str
    question: str
    right: Answer
    careless: Answer

    @property
    def prompt(self) -> str:
        """The text exactly as the model reads it, from first to last character."""
        return prompt_of(self.question)


@dataclass(frozen=True, slots=True)
class Item:
    """One sealed question: `key` names it in the partition, `id` is unique in a draw."""

    id: str
    task: Task
    prompt: str
    reference: str
    key: str


class Generator(Protocol):
    """Draws a problem of one task whose key lies in `split`."""

    def __call__(self, rng: Random, split: Split) -> Problem: ...
