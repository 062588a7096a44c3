"""Two-sided intervals for shares of points, alone and averaged over tasks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from rsi_master.stats.clustered import worth

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of `n` points, each in 0..1, with its interval."""

    mean: float
    low: float
    high: float
    n: int


def quantile(level: float) -> float:
    """The standard normal quantile of a two-sided interval: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + level / 2)


def wilson(points: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """The score interval of a share `points / n` (Wilson 1927, JASA 22:209-212).

    `n` may be an effective sample size. Raises ValueError unless 0 <= points <= n and n > 0.
    """
    if not 0 <= points <= n or n <= 0:
        raise ValueError(f"wilson: {points} points of {n} is no share")
    z2 = quantile(level) ** 2
    share = points / n
    centre = (points + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (n * share * (1 - share) + z2 / 4)) / (n + z2)
    low = 0.0 if points == 0 else min(share, max(0.0, centre - half))
    high = 1.0 if points == n else max(share, min(1.0, centre + half))
    return low, high


def mean_interval(
    points: Sequence[float], clusters: Sequence[str] | None = None, level: float = LEVEL
) -> Estimate:
    """The mean of points in 0..1; for points of 0 and 1 alone this is Wilson's interval.

    Partial credit varies less than a coin of the same mean, so Wilson's interval is taken at the
    effective sample size n * p(1-p) / variance (Franco et al. 2019, J. Survey Stat. Methodol.
    7:334-364). Without any variance the size stays n. Points of one of the `clusters` hang
    together: the size is then what they are worth in points that stand alone (`clustered.worth`);
    without clusters each stands alone. Raises ValueError for no points, and for more or fewer
    clusters than points.
    """
    n = len(points)
    if n == 0 or not all(0 <= point <= 1 for point in points):
        raise ValueError(f"mean_interval: {n} points, all must lie in 0..1")
    mean = math.fsum(points) / n
    variance = math.fsum((point - mean) ** 2 for point in points) / n
    effective = n * mean * (1 - mean) / variance if variance > 1e-12 else float(n)
    effective = max(effective, float(n))
    if clusters is not None:
        effective *= worth(points, clusters, level)
    share = min(1.0, max(0.0, mean))
    low, high = wilson(share * effective, effective, level)
    return Estimate(share, min(low, share), max(high, share), n)


def average_of_tasks(tasks: Sequence[Estimate]) -> Estimate:
    """The unweighted mean of independent tasks.

    The interval recovers each task's variance from its own limits, separately below and above
    (MOVER: Zou and Donner 2008, Stat. Med. 27:1693-1702), so it does not collapse at 0 or 1.
    """
    if not tasks:
        raise ValueError("average_of_tasks: no task was scored")
    count = len(tasks)
    mean = math.fsum(task.mean for task in tasks) / count
    below = math.hypot(*(task.mean - task.low for task in tasks)) / count
    above = math.hypot(*(task.high - task.mean for task in tasks)) / count
    total = sum(task.n for task in tasks)
    return Estimate(mean, max(0.0, mean - below), min(1.0, mean + above), total)
