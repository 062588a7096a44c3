"""Comparison of two checkpoints on the same items, and control over many such comparisons."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rsi_master.stats.clustered import sums, worth
from rsi_master.stats.intervals import LEVEL, quantile

DRAWS = 20_000
EXACT_FLIPS = 12
_PSEUDO_PAIRS = 2.0
_PSEUDO_SQUARES = 1.0
_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Difference:
    """Second minus first: mean over tasks, interval, two-sided p, items, items that differ, and as
    many items that stand alone as these are worth."""

    mean: float
    low: float
    high: float
    p: float
    n: int
    discordant: int
    effective: float


@dataclass(frozen=True, slots=True)
class _Stratum:
    """The changes of one task, the cluster of each, and what share of them they are worth."""

    change: np.ndarray
    clusters: list[str]
    worth: float


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    tasks: Sequence[str] | None = None,
    clusters: Sequence[str] | None = None,
    level: float = LEVEL,
) -> Difference:
    """Compare points in 0..1 of the same items in the same order.

    The estimate is the unweighted mean over `tasks` (one stratum without them). Items of one task
    and one of the `clusters` hang together; without clusters each stands alone. The interval is
    that of Agresti and Min (2005, Stat. Med. 24:729-740): two pseudo-pairs, one of them tied, are
    added (shared among the strata), here also for partial credit, to as many items as those of the
    stratum are worth (`clustered.worth`). The p-value is that of the estimate under random signs of
    whole clusters: for points of 0 and 1 in equally large tasks `whole_flip` of their sums, which
    is `mcnemar` where each item stands alone, else `sign_flip`. Raises ValueError when the lengths
    differ or are zero.
    """
    labels = tasks if tasks is not None else [""] * len(first)
    names = clusters if clusters is not None else [str(item) for item in range(len(first))]
    if not len(first) == len(second) == len(labels) == len(names) or not labels:
        raise ValueError(
            f"paired_difference: {len(first)}, {len(second)} points, {len(labels)} labels and "
            f"{len(names)} clusters"
        )
    change = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    strata = _strata(change, labels, names, level)
    mean = math.fsum(float(stratum.change.mean()) for stratum in strata) / len(strata)
    centre, variance = _adjusted(strata)
    half = quantile(level) * math.sqrt(variance)
    return Difference(
        mean=mean,
        low=min(mean, max(-1.0, centre - half)),
        high=max(mean, min(1.0, centre + half)),
        p=_p_value(change, strata),
        n=len(change),
        discordant=int(np.count_nonzero(np.abs(change) > _TOLERANCE)),
        effective=_effective(strata),
    )


def mcnemar(worse: int, better: int) -> float:
    """The exact two-sided p of `worse` against `better` discordant pairs (McNemar 1947).

    Twice the smaller tail of Binomial(worse + better, 1/2), at most 1.
    """
    pairs = worse + better
    tail = sum(math.comb(pairs, count) for count in range(min(worse, better) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**pairs)))


def whole_flip(sizes: Sequence[int]) -> float:
    """The exact two-sided p of the sum of whole numbers under random signs, by convolution; for
    changes of one alone that is McNemar's."""
    ways: np.ndarray = np.ones(1)  # of each sum from -total to total, in steps of 2
    for size in np.abs(sizes).tolist():
        ways = np.append(ways, np.zeros(size)) / 2 + np.append(np.zeros(size), ways) / 2
    found = 2 * np.arange(len(ways)) - (len(ways) - 1)
    return min(1.0, float(ways[np.abs(found) >= abs(sum(sizes))].sum()))


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


def _strata(
    change: np.ndarray, labels: Sequence[str], clusters: Sequence[str], level: float
) -> list[_Stratum]:
    found = []
    for task in sorted(set(labels)):
        places = [place for place, label in enumerate(labels) if label == task]
        inside, names = change[places], [clusters[place] for place in places]
        found.append(_Stratum(inside, names, worth(inside.tolist(), names, level)))
    return found


def _adjusted(strata: Sequence[_Stratum]) -> tuple[float, float]:
    """Centre and variance of the mean over strata after the pseudo-pairs."""
    count = len(strata)
    centres, variances = [], []
    for stratum in strata:
        change, share = stratum.change, stratum.worth
        size = len(change) * share + _PSEUDO_PAIRS / count
        centre = float(change.sum()) * share / size
        square = (float((change**2).sum()) * share + _PSEUDO_SQUARES / count) / size
        centres.append(centre)
        variances.append((square - centre**2) / size)
    return math.fsum(centres) / count, math.fsum(variances) / count**2


def _effective(strata: Sequence[_Stratum]) -> float:
    """As many items that stand alone, of the same sizes of tasks to each other, vary as much; never
    below the one that a single cluster is worth, which rounding may miss."""
    alone = math.fsum(1 / len(stratum.change) for stratum in strata)
    items = sum(len(stratum.change) for stratum in strata)
    found = items * (alone / math.fsum(1 / (len(s.change) * s.worth) for s in strata))
    return max(1.0, found)


def _p_value(change: np.ndarray, strata: Sequence[_Stratum]) -> float:
    """Of the mean over strata: whole sums of items say it where strata are equally large."""
    found = [sums(stratum.change.tolist(), stratum.clusters) for stratum in strata]
    whole = [round(size) for sizes in found for size in sizes]
    alike = len({len(stratum.change) for stratum in strata}) == 1
    if not alike or not np.all(np.isin(change, (-1.0, 0.0, 1.0))):
        weighted = zip(found, strata, strict=True)
        return sign_flip([size / len(one.change) for sizes, one in weighted for size in sizes])
    if all(abs(size) <= 1 for size in whole):
        return mcnemar(whole.count(-1), whole.count(1))
    return whole_flip(whole)
