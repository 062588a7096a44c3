"""Scores over seeds and items: means, the spread between seeds, and the error of sampling items."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.nano.result import Points, Result

from rsi_master.programs.nano.format import Task

Sample = Sequence[Points]
"""The points of one task: those of each seed, on the same items in the same order."""


@dataclass(frozen=True, slots=True)
class Score:
    """In per cent. `seed_sd` is None for one seed; `error` is the standard error over the items."""

    mean: float
    seed_sd: float | None
    error: float

    def __str__(self) -> str:
        return (
            f"{self.mean:.0f}" if self.seed_sd is None else f"{self.mean:.0f} ({self.seed_sd:.0f})"
        )


def of_task(sample: Sample) -> Score:
    """The score of one task over its seeds."""
    seeds = [100 * statistics.fmean(points) for points in sample]
    return Score(statistics.fmean(seeds), _sd(seeds), _error(_by_item(sample)))


def average(samples: Mapping[Task, Sample]) -> Score:
    """The unweighted mean over tasks; items of different tasks are independent."""
    tasks = [of_task(sample) for sample in samples.values()]
    count = len(next(iter(samples.values())))
    seeds = [
        statistics.fmean(100 * statistics.fmean(sample[at]) for sample in samples.values())
        for at in range(count)
    ]
    error = math.hypot(*(task.error for task in tasks)) / len(tasks)
    return Score(statistics.fmean(seeds), _sd(seeds), error)


def gain(over: Sample, under: Sample) -> Score:
    """The difference of two samples on the same seeds and items, paired by both."""
    pairs = [
        tuple(a - b for a, b in zip(first, second, strict=True))
        for first, second in zip(over, under, strict=True)
    ]
    seeds = [100 * statistics.fmean(pair) for pair in pairs]
    return Score(statistics.fmean(seeds), _sd(seeds), _error(_by_item(pairs)))


def samples(results: Sequence[Result]) -> dict[Task, Sample]:
    """The points of each task, seed by seed."""
    return {task: [one.points[task] for one in results] for task in results[0].points}


def _by_item(sample: Sequence[Sequence[float]]) -> list[float]:
    return [statistics.fmean(item) for item in zip(*sample, strict=True)]


def _error(items: Sequence[float]) -> float:
    return 100 * statistics.stdev(items) / math.sqrt(len(items)) if len(items) > 1 else math.nan


def _sd(values: Sequence[float]) -> float | None:
    return statistics.stdev(values) if len(values) > 1 else None
