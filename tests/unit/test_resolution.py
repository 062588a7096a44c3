"""What a split can show: the figures of the formula, in words."""

import pytest

from rsi_master.interfaces.resolution import ASSUMED, blind, resolution
from rsi_master.stats.power import detectable_difference


def test_each_split_is_told_by_the_smallest_difference_that_it_shows() -> None:
    assert resolution({"dev": 210, "confirm": 280, "holdout": 420, "twin": 0}) == (
        "10.5 points on dev, 9.1 points on confirm, 7.5 points on holdout"
    )
    assert "30 % of the items" in ASSUMED


def test_few_items_show_nothing() -> None:
    assert resolution({"dev": 3, "confirm": 12}) == "no difference on dev, no difference on confirm"


def test_a_holdout_that_shows_nothing_is_blind() -> None:
    assert [blind({"dev": 300, "holdout": size}) for size in (0, 12, 420)] == [True, True, False]


@pytest.mark.parametrize("items", range(1, 40))
@pytest.mark.parametrize("discordance", [0.01, 0.1, 0.3, 1.0])
def test_the_figure_is_a_difference_or_none_for_any_number(items: int, discordance: float) -> None:
    found = detectable_difference(items, discordance)
    assert found is None or 0 < found <= discordance
