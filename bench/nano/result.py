"""What one step gave: points by task and item, CPU seconds, and a few answers to show."""

from pathlib import Path
from typing import Annotated

from bench.nano.steps import Step
from pydantic import Field, ValidationError

from rsi_master.core.model import Value
from rsi_master.programs.nano.format import Task

FILE = "result.json"
CHECKPOINT = "checkpoint"

Points = tuple[Annotated[float, Field(ge=0, le=1)], ...]


class Answer(Value):
    """A practice question and what the checkpoint said."""

    task: Task
    prompt: str
    output: str
    points: float


class Result(Value):
    """`cpu_seconds` made the weights from those of the parents; imports and scoring are left out.

    `updates` are optimiser steps, `rows` the training rows, `points` those of the items in order,
    `keys` the canonical keys of these items: equal ones share what their answers hang on.
    """

    step: Step
    seed: int
    cpu_seconds: float
    wall_seconds: float
    updates: int
    rows: int
    points: dict[Task, Points]
    keys: dict[Task, tuple[str, ...]]
    answers: tuple[Answer, ...]


def read(folder: Path) -> Result | None:
    """The result of the step that was carried out in `folder`, None where none can be read."""
    try:
        return Result.model_validate_json((folder / FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def write(folder: Path, result: Result) -> None:
    """Write whole or not at all."""
    draft = folder / f"{FILE}.draft"
    draft.write_text(result.model_dump_json(), encoding="utf-8")
    draft.replace(folder / FILE)
