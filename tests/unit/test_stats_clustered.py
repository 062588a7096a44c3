"""Items that hang together: equality with items that stand alone, laws, coverage by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.stats.clustered import worth
from rsi_master.stats.intervals import LEVEL, average_of_tasks, mean_interval, wilson
from rsi_master.stats.paired import mcnemar, paired_difference, sign_flip, whole_flip

CLUSTERED = st.lists(st.tuples(st.floats(0, 1), st.sampled_from("abcdef")), min_size=1, max_size=40)
PAIR = st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from("ab"))
COIN = st.sampled_from((0.0, 1.0))


@given(st.lists(PAIR, min_size=1, max_size=14))
def test_where_each_item_stands_alone_nothing_changes(
    pairs: list[tuple[float, float, str]],
) -> None:
    first, second, tasks = map(list, zip(*pairs, strict=True))
    alone = [f"item {number}" for number in range(len(pairs))]
    found = paired_difference(first, second, tasks, alone)
    assert found == paired_difference(first, second, tasks)
    assert found.effective == len(pairs)
    assert mean_interval(first, alone) == mean_interval(first)


@given(CLUSTERED)
def test_points_are_worth_between_their_clusters_and_their_number(
    clustered: list[tuple[float, str]],
) -> None:
    points, clusters = map(list, zip(*clustered, strict=True))
    found, n = worth(points, clusters, LEVEL), len(points)
    heads = n * n / sum(clusters.count(name) ** 2 for name in set(clusters))
    assert heads - 1e-9 <= n * found <= n
    shuffled = [f"{name} renamed" for name in clusters[::-1]]
    assert worth(points[::-1], shuffled, LEVEL) == pytest.approx(found)


@given(st.lists(st.tuples(COIN, COIN), min_size=2, max_size=20), st.integers(2, 4))
def test_copies_of_an_item_say_no_more_than_the_item(
    pairs: list[tuple[float, float]], copies: int
) -> None:
    first, second = map(list, zip(*pairs, strict=True))
    names = [str(number) for number in range(len(pairs))]
    copied = mean_interval(first * copies, names * copies)
    once = mean_interval(first)
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high))
    compared = paired_difference(first * copies, second * copies, clusters=names * copies)
    single = paired_difference(first, second)
    assert (compared.low, compared.high) == pytest.approx((single.low, single.high))
    assert compared.p == pytest.approx(single.p)
    assert compared.effective == pytest.approx(len(pairs))


def test_all_right_is_as_sure_as_the_clusters_are_many() -> None:
    clusters = [str(number // 4) for number in range(40)]
    for point in (0.0, 1.0):
        found = mean_interval([point] * 40, clusters)
        assert (found.low, found.high) == pytest.approx(wilson(10 * point, 10))
        assert found.n == 40


def test_one_cluster_is_one_item_and_makes_no_champion() -> None:
    one = mean_interval([1.0, 0.0] * 20, ["a"] * 40)
    assert (one.low, one.high) == pytest.approx(wilson(0.5, 1))
    better = paired_difference([0.0] * 40, [1.0] * 40, clusters=["a"] * 40)
    single = paired_difference([0.0], [1.0])
    assert (better.low, better.high, better.p) == pytest.approx((single.low, single.high, 1.0))
    assert better.low < 0


def test_clusters_lie_within_tasks() -> None:
    first, second, tasks = [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0], ["a", "a", "b", "b"]
    shared = paired_difference(first, second, tasks, ["x", "y", "x", "y"])
    assert shared == paired_difference(first, second, tasks)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
def test_whole_flips_agree_with_writing_them_all_out(sizes: list[int]) -> None:
    flips = itertools.product((-1, 1), repeat=len(sizes))
    totals = [abs(sum(s * c for s, c in zip(signs, sizes, strict=True))) for signs in flips]
    expected = sum(total >= abs(sum(sizes)) for total in totals) / len(totals)
    assert whole_flip(sizes) == pytest.approx(expected)


def test_whole_flips_of_ones_are_mcnemars_and_many_do_not_overflow() -> None:
    assert whole_flip([1] * 14 + [-1] * 6) == pytest.approx(mcnemar(6, 14))
    assert whole_flip([2] * 1000 + [-2] * 700) == pytest.approx(mcnemar(700, 1000))


def test_signs_are_those_of_clusters() -> None:
    first, second = [0.0] * 12, [1.0] * 9 + [0.0] * 3
    clusters = ["a"] * 4 + ["b"] * 3 + ["c"] * 5
    found = paired_difference(first, second, clusters=clusters)
    assert found.p == pytest.approx(0.25)  # 2 of the 8 signs of 4, 3, 2 are as far from 0
    assert mcnemar(0, 9) < 0.01
    halves = [point / 2 for point in second]
    partly = paired_difference(first, halves, clusters=clusters)
    assert partly.p == pytest.approx(sign_flip([2.0, 1.5, 1.0]))


def test_clusters_of_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match="1 clusters"):
        paired_difference([1.0, 0.0], [1.0, 0.0], clusters=["a"])
    with pytest.raises(ValueError, match="2 points and 1 clusters"):
        mean_interval([1.0, 0.0], ["a"])


def keys(rng: np.random.Generator, items: int, number: int) -> np.ndarray:
    """So many clusters, each of at least one item, of sizes by chance."""
    return np.append(np.arange(number), rng.integers(0, number, items - number))


def answered(rng: np.random.Generator, of: np.ndarray, share: float, alike: float) -> np.ndarray:
    """Points of items, `alike` the share of which are those of their cluster."""
    cluster = (rng.random(of.max() + 1) < share)[of]
    return np.where(rng.random(len(of)) < alike, cluster, rng.random(len(of)) < share).astype(float)


@pytest.mark.parametrize(("items", "number"), [(120, 56), (40, 12)])
@pytest.mark.parametrize("shares", [(0.3, 0.5), (0.03, 0.9)])
def test_intervals_of_clustered_points_cover_and_those_of_items_do_not(
    items: int, number: int, shares: tuple[float, ...]
) -> None:
    rng, draws, truth = np.random.default_rng(17), 1000, sum(shares) / len(shares)
    covered, before = 0, 0
    for _ in range(draws):
        of = [keys(rng, items, number) for _ in shares]
        points = [
            answered(rng, one, share, 0.9).tolist() for one, share in zip(of, shares, strict=True)
        ]
        names = [list(map(str, one)) for one in of]
        found = average_of_tasks(list(map(mean_interval, points, names)))
        wrong = average_of_tasks(list(map(mean_interval, points)))
        covered += found.low <= truth <= found.high
        before += wrong.low <= truth <= wrong.high
    assert covered / draws >= 0.93
    assert before / draws < 0.91


@pytest.mark.parametrize("gain", [0.0, 0.3])
@pytest.mark.parametrize("tasks", [1, 3])
def test_paired_intervals_cover_and_call_no_more_better_than_they_may(
    gain: float, tasks: int
) -> None:
    """40 items of each task, of 16 things: the shares of facts and code in nano, and fewer."""
    rng, draws, size, number = np.random.default_rng(23), 1000, 40, 16
    covered = before = above = above_before = p_small = 0
    labels = [str(place // size) for place in range(tasks * size)]
    for _ in range(draws):
        of = np.concatenate([keys(rng, size, number) + task * number for task in range(tasks)])
        first = answered(rng, of, 0.3, 0.9)
        second = answered(rng, of, 0.3 + gain, 0.9)
        args = first.tolist(), second.tolist(), labels
        found, wrong = paired_difference(*args, list(map(str, of))), paired_difference(*args)
        covered += found.low <= gain <= found.high
        before += wrong.low <= gain <= wrong.high
        above += found.low > 0
        above_before += wrong.low > 0
        p_small += found.p <= 0.05
    assert covered / draws >= 0.93
    assert before / draws < 0.91
    if gain == 0:
        assert above / draws <= 0.035 < 0.06 < above_before / draws
        assert p_small / draws <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / draws)
    else:
        assert above / draws > 0.3
