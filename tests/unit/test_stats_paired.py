"""Paired comparison, multiple tests and power: published values, laws, simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from rsi_master.stats.paired import holm, mcnemar, paired_difference, sign_flip
from rsi_master.stats.power import detectable_difference

PAIR = st.tuples(st.floats(0, 1), st.floats(0, 1), st.sampled_from("abc"))
PAIRS = st.lists(PAIR, min_size=1, max_size=30)


@given(PAIRS)
def test_swapping_the_two_turns_the_sign_and_keeps_p(pairs: list[tuple[float, float, str]]) -> None:
    first, second, tasks = map(list, zip(*pairs, strict=True))
    there, back = paired_difference(first, second, tasks), paired_difference(second, first, tasks)
    assert back.mean == pytest.approx(-there.mean, abs=1e-12)
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low), abs=1e-12)
    assert back.p == pytest.approx(there.p)


@given(PAIRS)
def test_the_interval_contains_the_estimate(pairs: list[tuple[float, float, str]]) -> None:
    first, second, tasks = map(list, zip(*pairs, strict=True))
    found = paired_difference(first, second, tasks)
    assert -1 <= found.low <= found.mean <= found.high <= 1
    assert 0 < found.p <= 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_identical_points_differ_by_nothing_with_p_one(points: list[float]) -> None:
    found = paired_difference(points, points)
    assert (found.mean, found.p, found.discordant) == (0, 1, 0)
    assert found.low < 0 < found.high


def test_the_interval_is_that_of_agresti_and_min() -> None:
    # The approval ratings of that paper: 794 of 1600 approve twice, 150 and 86 change their mind.
    both, worse, better, neither = 794, 150, 86, 570
    first = [1.0] * (both + worse) + [0.0] * (better + neither)
    second = [1.0] * both + [0.0] * worse + [1.0] * better + [0.0] * neither
    found = paired_difference(first, second)
    b, c, n = better + 0.5, worse + 0.5, both + worse + better + neither + 2
    half = 1.959964 * math.sqrt(b + c - (b - c) ** 2 / n) / n
    assert found.mean == pytest.approx(-0.04)
    assert (found.low, found.high) == pytest.approx(((b - c) / n - half, (b - c) / n + half))
    assert found.p == pytest.approx(binomtest(86, 236).pvalue)
    assert found.discordant == 236


def test_tasks_weigh_the_same_whatever_their_size() -> None:
    tasks = ["small"] * 2 + ["large"] * 8
    found = paired_difference([0.0] * 10, [1.0] * 2 + [0.0] * 8, tasks)
    assert found.mean == pytest.approx(0.5)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_one_half(worse: int, better: int) -> None:
    expected = binomtest(worse, worse + better).pvalue if worse + better else 1.0
    assert mcnemar(worse, better) == pytest.approx(expected)


def test_mcnemar_of_many_pairs_does_not_overflow() -> None:
    assert mcnemar(2000, 2600) < 1e-15


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=8))
def test_sign_flips_agree_with_writing_them_all_out(change: list[float]) -> None:
    observed = abs(math.fsum(change)) - 1e-9
    flips = itertools.product((-1, 1), repeat=len(change))
    sums = [abs(sum(s * abs(c) for s, c in zip(signs, change, strict=True))) for signs in flips]
    assert sign_flip(change) == pytest.approx(
        sum(s >= observed for s in sums) / len(sums), abs=0.02
    )


def test_drawn_sign_flips_agree_with_mcnemar() -> None:
    change = [1.0] * 14 + [-1.0] * 6
    assert sign_flip(change) == pytest.approx(mcnemar(6, 14), abs=0.01)
    assert sign_flip(change) == sign_flip(change)


def test_p_is_of_the_estimate_where_tasks_differ_in_size() -> None:
    """Two items of a small task got better, four of a large one worse: the mean over tasks rose."""
    tasks = ["small"] * 2 + ["large"] * 10
    first, second = [0.0] * 2 + [1.0] * 10, [1.0] * 2 + [0.0] * 4 + [1.0] * 6
    found = paired_difference(first, second, tasks)
    assert found.mean == pytest.approx(0.3)
    sizes = [1 / 2] * 2 + [1 / 10] * 4
    flips = itertools.product((-1, 1), repeat=len(sizes))
    drawn = [abs(sum(s * c for s, c in zip(signs, sizes, strict=True))) for signs in flips]
    assert found.p == pytest.approx(sum(one >= 0.6 - 1e-9 for one in drawn) / len(drawn))


def test_holm_gives_the_values_of_p_adjust_in_r() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_and_keeps_the_order(ps: list[float]) -> None:
    adjusted = holm(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
    ranked = sorted(zip(ps, adjusted, strict=True))
    assert [q for _, q in ranked] == sorted(q for _, q in ranked)


def test_points_of_different_items_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="2, 1 points"):
        paired_difference([1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="0, 0 points"):
        paired_difference([], [])


@pytest.mark.parametrize("gain", [0.0, 0.1, 0.45])
def test_the_interval_covers_the_true_difference(gain: float) -> None:
    rng = np.random.default_rng(11)
    base, tasks = np.repeat([0.05, 0.3, 0.5], 40), ["a"] * 40 + ["b"] * 40 + ["c"] * 40
    draws, covered, found_different = 1500, 0, 0
    for _ in range(draws):
        shared = rng.random(120)
        first = (shared < base).astype(float)
        # A part of the items is answered independently: discordance in both directions.
        again = np.where(rng.random(120) < 0.3, rng.random(120), shared)
        second = (again < base + gain).astype(float)
        found = paired_difference(first.tolist(), second.tolist(), tasks)
        covered += found.low <= gain <= found.high
        found_different += found.p < 0.05
    assert covered / draws >= 0.935
    assert found_different / draws <= 0.05 if gain == 0 else found_different / draws > 0.3


def test_a_detectable_difference_is_detected_with_the_promised_power() -> None:
    n, discordance = 200, 0.3
    wanted = detectable_difference(n, discordance)
    assert wanted is not None
    rng = np.random.default_rng(3)
    up, down = (discordance + wanted) / 2, (discordance - wanted) / 2
    drawn = rng.multinomial(n, [up, down, 1 - discordance], size=2000)
    power = np.mean([mcnemar(worse, better) < 0.05 for better, worse, _ in drawn.tolist()])
    assert 0.74 <= power <= 0.85  # the exact test is a little stricter than the formula's


@given(st.integers(20, 5000), st.floats(0.05, 1))
def test_more_items_show_smaller_differences(n: int, discordance: float) -> None:
    few, many = detectable_difference(n, discordance), detectable_difference(2 * n, discordance)
    if few is not None:
        assert many is not None
        assert many < few <= discordance


@pytest.mark.parametrize("n", [49, 98, 107, 187])
def test_one_cluster_is_worth_one_item_however_it_is_rounded(n: int) -> None:
    found = paired_difference([0.0] * n, [1.0] + [0.0] * (n - 1), clusters=["a"] * n)
    assert found.effective == 1.0
    assert detectable_difference(found.effective, 0.5) is None


def test_a_handful_of_items_detects_nothing() -> None:
    assert detectable_difference(5, 0.2) is None
    with pytest.raises(ValueError, match="discordance"):
        detectable_difference(5, 0.0)
