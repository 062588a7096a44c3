"""Figures that are published for a benchmark beside a run: what its base reaches with examples in
the prompt, and the best recipe made by hand. A file beside the benchmark's module holds them."""

import importlib.util
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from rsi_master.core.artifact import Digest
from rsi_master.core.model import Value
from rsi_master.core.score import Split
from rsi_master.core.sealed import SealedSet

BENCHMARKS = "rsi_master.benchmarks"
FOLDER = "published"

Share = Annotated[float, Field(ge=0, le=1)]


class Measured(Value):
    """A published score as a share in 0..1 with its standard error, which counts questions and
    seeds."""

    value: Share
    error: Annotated[float, Field(ge=0)]


class Yardstick(Value):
    """What somebody reached with the base, and the base itself on the same questions. `seeds` is
    how many trainings the score is the mean of."""

    what: str
    split: Split
    seeds: Annotated[int, Field(ge=1)]
    score: Measured
    base: Measured


class Yardsticks(Value):
    """All that is published for a benchmark. It belongs to one base, by the digest of its tensors,
    and one suite, by the digest of its source; `items` are questions a task, of draws of its own.
    """

    benchmark: str
    base: Digest
    suite: Digest
    page: str
    items: Annotated[int, Field(ge=1)]
    few_shot: Yardstick
    best: Yardstick


@dataclass(frozen=True)
class Unknown:
    """That nothing is known to hold a run against, and why."""

    reason: str


def yardsticks(sealed: SealedSet) -> Yardsticks | Unknown:
    """What is published for that benchmark, suite and base, by the package that ships it."""
    name = sealed.benchmark
    points = list(entry_points(group=BENCHMARKS, name=name))
    path = _beside(points[0]) if points else None
    if path is None or not path.is_file():
        return Unknown(f"none is published for the benchmark {name}")
    try:
        found = Yardsticks.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as cause:
        told = str(cause).splitlines()[0]
        return Unknown(f"what is published for the benchmark {name} cannot be read: {told}")
    if (found.suite, found.base) != (sealed.suite, sealed.base):
        return Unknown(f"what is published for the benchmark {name} is of another suite or base")
    return found


def _beside(point: EntryPoint) -> Path | None:
    """Where the figures of a benchmark lie, whose module is not loaded."""
    try:
        spec = importlib.util.find_spec(point.module)
    except ImportError:
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / FOLDER / f"{point.name}.json"
