"""The learning curve of an experiment, thinned for reading."""

import math

from pydantic import BaseModel, ValidationError

from rsi_master.core.experiment import Experiment
from rsi_master.core.model import Value
from rsi_master.core.ports import ObjectStore

POINTS = 40
LOG_CHARS = 2000


class Point(Value):
    """Loss at a step; None where the logger wrote none."""

    step: int
    loss: float | None


class _Metric(BaseModel):
    step: int
    loss: float | None = None


def curve(objects: ObjectStore, experiment: Experiment) -> tuple[tuple[Point, ...], str]:
    """At most 40 points of the recorded metrics, and the end of the last attempt's log."""
    logs = [a.ended.log for a in experiment.attempts if a.ended and a.ended.log]
    log = objects.get_bytes(logs[-1].digest).decode("utf-8", "replace") if logs else ""
    stored = experiment.checkpoint
    if stored is None:
        return (), log[-LOG_CHARS:]
    lines = objects.get_bytes(stored.metrics.digest).splitlines()
    points = [point for line in lines if (point := _point(line)) is not None]
    every = max(1, -(-len(points) // POINTS))
    return tuple(points[::every]), log[-LOG_CHARS:]


def _point(line: bytes) -> Point | None:
    """None for a line that is no metric: a job's words about itself must not stop a reader."""
    try:
        metric = _Metric.model_validate_json(line)
    except ValidationError:
        return None
    loss = metric.loss
    return Point(step=metric.step, loss=loss if loss is not None and math.isfinite(loss) else None)
