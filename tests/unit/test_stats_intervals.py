"""Intervals of shares: published values, laws, and coverage by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from rsi_master.stats.intervals import Estimate, average_of_tasks, mean_interval, wilson

POINTS = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("points", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_is_that_of_newcombe_1998_table_1(
    points: int, n: int, low: float, high: float
) -> None:
    assert wilson(points, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy(case: tuple[int, int]) -> None:
    points, n = case
    other = binomtest(points, n).proportion_ci(0.95, method="wilson")
    assert wilson(points, n) == pytest.approx((other.low, other.high), abs=1e-9)


@pytest.mark.parametrize(("points", "n"), [(-1, 3), (4, 3), (0, 0)])
def test_wilson_refuses_what_is_no_share(points: int, n: int) -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson(points, n)


@given(POINTS)
def test_the_interval_contains_the_mean_within_zero_and_one(points: list[float]) -> None:
    found = mean_interval(points)
    assert found.mean == pytest.approx(math.fsum(points) / len(points))
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.n == len(points)


@given(st.lists(st.sampled_from((0.0, 1.0)), min_size=1, max_size=60))
def test_without_partial_credit_the_interval_is_wilsons(points: list[float]) -> None:
    found = mean_interval(points)
    assert (found.low, found.high) == pytest.approx(wilson(sum(points), len(points)))


def test_partial_credit_is_narrower_than_a_coin_of_the_same_mean() -> None:
    partial, coin = mean_interval([0.4, 0.6] * 30), mean_interval([0.0, 1.0] * 30)
    assert partial.high - partial.low < 0.3 * (coin.high - coin.low)


@pytest.mark.parametrize("points", [[], [1.2], [-0.1], [float("nan")]])
def test_points_outside_zero_and_one_are_refused(points: list[float]) -> None:
    with pytest.raises(ValueError, match=r"0\.\.1"):
        mean_interval(points)


def test_one_task_keeps_its_interval() -> None:
    task = mean_interval([1.0, 0.0, 1.0, 1.0])
    found = average_of_tasks([task])
    assert (found.mean, found.low, found.high) == pytest.approx((task.mean, task.low, task.high))


def test_the_average_is_unweighted_and_equal_tasks_shrink_by_the_square_root() -> None:
    small, large = Estimate(0.2, 0.1, 0.4, 10), Estimate(0.6, 0.5, 0.8, 1000)
    found = average_of_tasks([small, large])
    assert found.mean == pytest.approx(0.4)
    assert found.n == 1010
    assert found.low == pytest.approx(0.4 - 0.1 / math.sqrt(2))
    assert found.high == pytest.approx(0.4 + 0.2 / math.sqrt(2))


def test_the_average_of_perfect_tasks_is_not_certain() -> None:
    assert average_of_tasks([mean_interval([1.0] * 20)] * 3).low < 0.95


def test_no_task_is_no_average() -> None:
    with pytest.raises(ValueError, match="no task"):
        average_of_tasks([])


@pytest.mark.parametrize("shares", [(0.05, 0.5, 0.98), (0.3, 0.3, 0.3), (0.0, 0.02, 0.9)])
def test_ninety_five_per_cent_of_the_intervals_cover_the_truth(shares: tuple[float, ...]) -> None:
    rng = np.random.default_rng(7)
    draws, truth, covered = 1500, sum(shares) / len(shares), 0
    for _ in range(draws):
        tasks = [mean_interval((rng.random(40) < share).astype(float).tolist()) for share in shares]
        found = average_of_tasks(tasks)
        covered += found.low <= truth <= found.high
    assert covered / draws >= 0.935
