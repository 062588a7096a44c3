"""Comparison of two checkpoints on the same items, and control over many such comparisons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rsi_master.stats.intervals import LEVEL, quantile

DRAWS = 20_000
EXACT_FLIPS = 12
_PSEUDO_PAIRS = 2.0
_PSEUDO_SQUARES = 1.0
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """Second minus first: mean over tasks, interval, two-sided p, items, items that differ."""

    mean: float
    low: float
    high: float
    p: float
    n: int
    discordant: int


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[str] | None = None,
    level: float = LEVEL,
) -> Difference:
    """Compare points in 0..1 of the same items in the same order.

    The estimate is the unweighted mean over `tasks` (one stratum without them). The interval is
    that of Agresti and Min (2005, Stat. Med. 24:729-740): two pseudo-pairs, one of them tied, are
    added (shared among the strata), here also for partial credit. The p-value is `mcnemar` for
    points of 0 and 1, else `sign_flip`. Raises ValueError when the lengths differ or are zero.
    """
    labels = tasks if tasks is not None else [""] * len(first)
    if not len(first) == len(second) == len(labels) or not labels:
        raise ValueError(
            f"paired_difference: {len(first)}, {len(second)} points and {len(labels)} labels"
        )
    change = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    strata = _strata(change, labels)
    mean = math.fsum(float(stratum.mean()) for stratum in strata) / len(strata)
    centre, variance = _adjusted(strata)
    half = quantile(level) * math.sqrt(variance)
    return Difference(
        mean=mean,
        low=min(mean, max(-1.0, centre - half)),
        high=max(mean, min(1.0, centre + half)),
        p=_p_value(change, strata),
        n=len(change),
        discordant=int(np.count_nonzero(np.abs(change) > _TOLERANCE)),
    )


def mcnemar(worse: int, better: int) -> float:
    """The exact two-sided p of `worse` against `better` discordant pairs (McNemar 1947).

    Twice the smaller tail of Binomial(worse + better, 1/2), at most 1.
    """
    pairs = worse + better
    tail = sum(math.comb(pairs, count) for count in range(min(worse, better) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**pairs)))


def sign_flip(change: Sequence[float]) -> float:
    """The two-sided p of the sum under random signs (Fisher 1935, The Design of Experiments, 21).

    Exact for up to 12 changes, else 20,000 draws with a fixed seed and the observed one counted.
    """
    sizes = np.abs(np.asarray([size for size in change if abs(size) > _TOLERANCE]))
    if not len(sizes):
        return 1.0
    observed = abs(math.fsum(change)) - 1e-9
    if len(sizes) <= EXACT_FLIPS:
        codes = np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes)) & 1
        return float(np.mean(np.abs((1 - 2 * codes) @ sizes) >= observed))
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(DRAWS, len(sizes)))
    return float((np.count_nonzero(np.abs(signs @ sizes) >= observed) + 1) / (DRAWS + 1))


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in the given order (Holm 1979, Scand. J. Stat. 6:65-70)."""
    order = sorted(range(len(ps)), key=lambda index: ps[index])
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return tuple(adjusted)


def _strata(change: np.ndarray, labels: Sequence[str]) -> list[np.ndarray]:
    names = np.asarray(labels)
    return [change[names == name] for name in sorted(set(labels))]


def _adjusted(strata: Sequence[np.ndarray]) -> tuple[float, float]:
    """Centre and variance of the mean over strata after the pseudo-pairs."""
    count = len(strata)
    centres, variances = [], []
    for stratum in strata:
        size = len(stratum) + _PSEUDO_PAIRS / count
        centre = float(stratum.sum()) / size
        square = (float((stratum**2).sum()) + _PSEUDO_SQUARES / count) / size
        centres.append(centre)
        variances.append((square - centre**2) / size)
    return math.fsum(centres) / count, math.fsum(variances) / count**2


def _p_value(change: np.ndarray, strata: Sequence[np.ndarray]) -> float:
    if np.all(np.isin(change, (-1.0, 0.0, 1.0))):
        return mcnemar(int(np.sum(change < 0)), int(np.sum(change > 0)))
    weighted = [value / len(stratum) for stratum in strata for value in stratum.tolist()]
    return sign_flip(weighted)
