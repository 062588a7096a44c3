"""Scores over seeds and items: means, the spread between seeds, and the standard error of both.

Items with one key hang on the same fact or program and are no independent draws: they are one
cluster of the error (Liang and Zeger 1986, with the correction for few clusters).
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.nano.result import Result

from rsi_master.programs.nano.format import Task


@dataclass(frozen=True, slots=True)
class Sample:
    """The points of one task: those of each seed, on the same items with these keys."""

    points: tuple[tuple[float, ...], ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """In per cent. `seed_sd` is None for one seed; `error` is the standard error of the mean."""

    mean: float
    seed_sd: float | None
    error: float

    def __str__(self) -> str:
        return (
            f"{self.mean:.0f}" if self.seed_sd is None else f"{self.mean:.0f} ({self.seed_sd:.0f})"
        )


def of_task(sample: Sample) -> Score:
    """The score of one task over its seeds."""
    return _score(_seeds(sample), _items_error(sample))


def average(samples: Mapping[Task, Sample]) -> Score:
    """The unweighted mean over tasks; items of different tasks are independent, seeds are not."""
    seeds = [statistics.fmean(one) for one in zip(*map(_seeds, samples.values()), strict=True)]
    return _score(seeds, math.hypot(*map(_items_error, samples.values())) / len(samples))


def gain(over: Sample, under: Sample) -> Score:
    """The difference of two samples on the same seeds and items, paired by both."""
    return of_task(_change(over, under))


def average_gain(over: Mapping[Task, Sample], under: Mapping[Task, Sample]) -> Score:
    """The difference of two averages over tasks, paired by seed and item."""
    return average({task: _change(over[task], under[task]) for task in over})


def samples(results: Sequence[Result]) -> dict[Task, Sample]:
    """The points of each task, seed by seed."""
    return {
        task: Sample(tuple(one.points[task] for one in results), results[0].keys[task])
        for task in results[0].points
    }


def _change(over: Sample, under: Sample) -> Sample:
    if over.keys != under.keys:
        raise ValueError("bench: a gain needs the same items on both sides")
    pairs = zip(over.points, under.points, strict=True)
    change = tuple(tuple(a - b for a, b in zip(*pair, strict=True)) for pair in pairs)
    return Sample(change, over.keys)


def _score(seeds: Sequence[float], items_error: float) -> Score:
    spread = statistics.stdev(seeds) if len(seeds) > 1 else None
    error = math.hypot(items_error, (spread or 0.0) / math.sqrt(len(seeds)))
    return Score(statistics.fmean(seeds), spread, error)


def _seeds(sample: Sample) -> list[float]:
    return [100 * statistics.fmean(points) for points in sample.points]


def _items_error(sample: Sample) -> float:
    """The standard error of drawing the items, with the seeds as they are; NaN for one cluster."""
    items = [statistics.fmean(item) for item in zip(*sample.points, strict=True)]
    sums = _by_key(sample.keys, items)
    if len(sums) < 2:
        return math.nan
    squares = sum(one * one for one in sums)
    return 100 * math.sqrt(squares * len(sums) / (len(sums) - 1)) / len(items)


def _by_key(keys: Iterable[str], items: Sequence[float]) -> list[float]:
    """The sum of the deviations from the mean in each cluster."""
    mean, sums = statistics.fmean(items), defaultdict[str, float](float)
    for key, item in zip(keys, items, strict=True):
        sums[key] += item - mean
    return list(sums.values())
