"""What one step gave: points by task and item, CPU seconds, and a few answers to show."""

import hashlib
from pathlib import Path
from typing import Annotated

from bench.nano.steps import Step
from pydantic import Field, ValidationError

from rsi_master.core import canonical
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
    `keys` the canonical keys of these items: equal ones share what their answers hang on. `files`
    are the digests of the checkpoint that was left, no file where the step left none, and `digest`
    is that of all else: by them one can tell whether it is still what was scored and written.
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
    files: dict[str, str] = Field(default_factory=dict)
    digest: str = ""

    def sealed(self) -> "Result":
        """The same with its digest."""
        told = canonical.encode(self.model_dump(mode="json", exclude={"digest"}))
        return self.model_copy(update={"digest": canonical.digest(told)})


def read(folder: Path) -> Result | None:
    """The result of the step that was carried out in `folder`, None where none can be read."""
    try:
        found = Result.model_validate_json((folder / FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return found if found == found.sealed() else None


def write(folder: Path, result: Result) -> None:
    """Write whole or not at all, with the digests of the checkpoint in the folder."""
    draft = folder / f"{FILE}.draft"
    told = result.model_copy(update={"files": digests(folder)}).sealed()
    draft.write_text(told.model_dump_json(), encoding="utf-8")
    draft.replace(folder / FILE)


def digests(folder: Path) -> dict[str, str]:
    """The sha256 of each file of the checkpoint that was left in `folder`, by its path there."""
    checkpoint = folder / CHECKPOINT
    return {
        str(path.relative_to(checkpoint)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(checkpoint.rglob("*"))
        if path.is_file()
    }
