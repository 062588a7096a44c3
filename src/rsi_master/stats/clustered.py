"""Items that hang together, as questions on one text: what they are worth in items that stand
alone.

The error of their mean is that of clusters, not of items (Liang and Zeger 1986, Biometrika
73:13-22; for evaluations Miller 2024, arXiv 2411.00640).
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

_PSEUDO_SQUARES = 0.5


def worth(points: Sequence[float], clusters: Sequence[str], level: float) -> float:
    """The share of the `points` that as many independent ones would need for a mean as sure.

    It is 1 over Kish's design effect (1965, Survey Sampling): the variance of the mean between
    clusters over that of independent points, here never below 1, nor above what it is if all points
    of a cluster are equal. So n points in G clusters are worth between n**2 / sum(size**2), which
    is at most G, and n; where each is its own cluster, exactly n, and all in one, exactly one.

    Few clusters show little about that effect, and rare errors too. So it is estimated with half a
    squared point more, of a cluster whose points are equal (points that do not vary count by
    cluster), and widened by the t quantiles of clusters over points (Korn and Graubard 1998, Survey
    Methodology 24:193-201). Raises ValueError when the lengths differ or are zero.
    """
    n = len(points)
    if n == 0 or n != len(clusters):
        raise ValueError(f"worth: {n} points and {len(clusters)} clusters")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    if len(numbers) == n:
        return 1.0
    of = np.array([numbers[name] for name in clusters])
    heads = n * n / float((np.bincount(of) ** 2).sum())
    if len(numbers) == 1:
        return 1 / n
    rest = np.asarray(points, dtype=float) - math.fsum(points) / n
    alone = float((rest**2).sum()) * n / (n - 1)
    together = float((np.bincount(of, rest) ** 2).sum()) * heads / (heads - 1)
    effect = (together + _PSEUDO_SQUARES * n / heads) / (alone + _PSEUDO_SQUARES)
    widened = max(1.0, effect) * (_student(level, heads - 1) / _student(level, n - 1)) ** 2
    return max(heads / n, min(1.0, 1 / widened))


def sums(points: Sequence[float], clusters: Sequence[str]) -> list[float]:
    """The sum of each cluster, in the order in which they first appear."""
    found = dict.fromkeys(clusters, 0.0)
    for point, name in zip(points, clusters, strict=True):
        found[name] += point
    return list(found.values())


def _student(level: float, degrees: float) -> float:
    """The two-sided t quantile (Abramowitz and Stegun 1964, 26.7.5): within 1 % from 3 degrees of
    freedom on, too small below."""
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
    )
