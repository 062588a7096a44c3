"""The learning curve of an experiment, thinned for reading."""

import json

from rsi_master.core.experiment import Experiment
from rsi_master.core.model import Value
from rsi_master.core.ports import ObjectStore

POINTS = 40
LOG_CHARS = 2000


class Point(Value):
    """Loss at a step; None where the logger wrote none."""

    step: int
    loss: float | None


def curve(objects: ObjectStore, experiment: Experiment) -> tuple[tuple[Point, ...], str]:
    """At most 40 points of the recorded metrics, and the end of the last attempt's log."""
    logs = [a.ended.log for a in experiment.attempts if a.ended and a.ended.log]
    log = objects.get_bytes(logs[-1].digest).decode("utf-8", "replace") if logs else ""
    stored = experiment.checkpoint
    if stored is None:
        return (), log[-LOG_CHARS:]
    points = []
    for line in objects.get_bytes(stored.metrics.digest).splitlines():
        raw = json.loads(line)
        loss = raw.get("loss")
        points.append(Point(step=raw["step"], loss=loss if isinstance(loss, float | int) else None))
    every = max(1, -(-len(points) // POINTS))
    return tuple(points[::every]), log[-LOG_CHARS:]
