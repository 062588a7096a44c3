"""The books: left, held and spent are always the limit."""

import math
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.action import Amounts
from rsi_master.core.budget import ZERO, Books, reservation

LIMIT = Amounts(device_seconds=1000, evaluations=40, experiments=20)
amounts = st.builds(
    Amounts,
    device_seconds=st.integers(0, 200).map(float),
    evaluations=st.integers(0, 6),
    experiments=st.integers(0, 3),
)
names = st.sampled_from(["a", "b", "c", "d"])


@dataclass(frozen=True)
class Hold:
    """Reserve what is affordable."""

    holder: str
    amount: Amounts

    def on(self, books: Books) -> None:
        if self.holder not in books.held and not books.left().lacking(self.amount):
            books.hold(self.holder, self.amount)


@dataclass(frozen=True)
class HandOver:
    """Pass a reservation on."""

    holder: str
    heir: str

    def on(self, books: Books) -> None:
        if self.heir not in books.held:
            books.hand_over(self.holder, self.heir)


@dataclass(frozen=True)
class Settle:
    """Spend at most what was reserved."""

    holder: str
    share: float

    def on(self, books: Books) -> None:
        held = books.held.get(self.holder, ZERO)
        spent = Amounts(
            device_seconds=held.device_seconds * self.share,
            evaluations=int(held.evaluations * self.share),
            experiments=int(held.experiments * self.share),
        )
        books.settle(self.holder, spent)


moves = st.one_of(
    st.builds(Hold, names, amounts),
    st.builds(HandOver, names, names),
    st.builds(Settle, names, st.floats(0, 1)),
)


def close(one: Amounts, other: Amounts) -> bool:
    return (
        abs(one.device_seconds - other.device_seconds) < 1e-6
        and one.evaluations == other.evaluations
        and one.experiments == other.experiments
    )


@given(st.lists(moves, max_size=60))
def test_left_held_and_spent_are_the_limit_and_none_is_negative(
    history: list[Hold | HandOver | Settle],
) -> None:
    books = Books(LIMIT)
    for move in history:
        move.on(books)
        assert close(books.left().plus(books.reserved()).plus(books.spent), LIMIT)
        assert not books.left().lacking(ZERO)
        assert not books.reserved().lacking(ZERO)


@given(st.lists(st.tuples(names, names), max_size=20))
def test_handing_over_loses_and_doubles_nothing(pairs: list[tuple[str, str]]) -> None:
    books = Books(LIMIT)
    books.hold("a", Amounts(experiments=3))
    for holder, heir in pairs:
        books.hand_over(holder, heir)
        assert books.reserved() == Amounts(experiments=3)


def test_what_lacks_is_named() -> None:
    left = Amounts(device_seconds=10, evaluations=2, experiments=0)
    need = Amounts(device_seconds=10.5, evaluations=2, experiments=1)
    assert left.lacking(need) == ("device_seconds", "experiments")
    assert left.lacking(left) == ()


def test_an_unknown_holder_settles_what_it_spent_and_frees_nothing() -> None:
    books = Books(LIMIT)
    books.hold("a", Amounts(evaluations=2))
    books.settle("base", Amounts(evaluations=2))
    assert books.reserved() == Amounts(evaluations=2)
    assert books.spent == Amounts(evaluations=2)


@given(amounts)
def test_what_is_finite_and_not_negative_can_be_reserved(amount: Amounts) -> None:
    assert reservation(amount) == amount


@pytest.mark.parametrize(
    ("need", "name"),
    [
        (Amounts(device_seconds=math.nan), "device_seconds"),
        (Amounts(device_seconds=math.inf), "device_seconds"),
        (Amounts(device_seconds=-0.5), "device_seconds"),
        (Amounts(evaluations=-1), "evaluations"),
        (Amounts(experiments=-1), "experiments"),
    ],
)
def test_what_would_add_to_the_budget_or_escape_it_is_no_reservation(
    need: Amounts, name: str
) -> None:
    with pytest.raises(ValueError, match=name):
        reservation(need)
