"""How far a running training is, read from the metrics that its job writes as it goes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, FiniteFloat, NonNegativeInt, ValidationError

from rsi_master.core.experiment import Attempt, Experiment
from rsi_master.expos.harvest import tail
from rsi_master.interfaces import words

TAIL_BYTES = 4096


@dataclass(frozen=True)
class Beat:
    """What a training told last: its step, of how many, and the reward or loss there."""

    step: int
    steps: int
    reward: float | None = None
    loss: float | None = None

    def share(self) -> float:
        """How much of the training is done, in 0..1."""
        return self.step / self.steps


class Gauge(Protocol):
    """Tells how far trainings are, now or at a moment of the past."""

    def beat(self, experiment: Experiment, now: float) -> Beat | None:
        """The newest beat of its running training; `now` is on the clock of the record. None before
        the first beat, and where the recipe is not installed here."""


class _Metric(BaseModel):
    step: NonNegativeInt
    loss: FiniteFloat | None = None
    reward: FiniteFloat | None = None


@dataclass
class Pulse:
    """The beats of the jobs that write in this spool now."""

    spool: Path
    _planned: dict[str, int] = field(default_factory=dict)

    def beat(self, experiment: Experiment, now: float) -> Beat | None:
        """See `Gauge`."""
        attempt = experiment.running()
        if attempt is None or attempt.planned.stage != "train":
            return None
        steps = self._planned.setdefault(experiment.id, planned(experiment))
        return last(self._lines(attempt), steps)

    def _lines(self, attempt: Attempt) -> list[bytes]:
        """The end of its metrics, without the line that the job may be writing."""
        metrics = self.spool / attempt.planned.job / "out" / "metrics.jsonl"
        return tail(metrics, TAIL_BYTES).split(b"\n")[:-1]


def planned(experiment: Experiment) -> int:
    """The optimiser steps that an experiment's recipe plans; 0 when it is not installed here."""
    queued = experiment.queued
    found = words.specification(queued.recipe) if queued else None
    return found.planned_steps(queued.rows) if queued and found else 0


def last(lines: Sequence[bytes], steps: int) -> Beat | None:
    """The beat of the last line that is a metric; None without any. A job's words about itself must
    not stop a reader."""
    for line in reversed(lines):
        try:
            found = _Metric.model_validate_json(line)
        except ValidationError:
            continue
        return Beat(min(found.step, steps), steps, found.reward, found.loss) if steps > 0 else None
    return None
