"""Foreign text is made fit for the record and the screen."""

from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.canonical import decode, encode
from rsi_master.core.experiment import Rejection
from rsi_master.core.text import clean


def test_escapes_surrogates_and_lines_do_not_survive() -> None:
    assert clean("a\x1b[2Jb\ud800\nc\u202ed") == "a [2Jb\ufffd c d"


@given(st.text(st.characters(exclude_categories=[]), max_size=2000), st.integers(1, 300))
def test_any_text_can_be_recorded_afterwards(text: str, limit: int) -> None:
    fit = clean(text, limit)
    assert len(fit) <= limit
    assert decode(encode(fit)) == fit
    assert fit.isprintable()


def test_a_rejection_carries_fit_text_only() -> None:
    assert Rejection(code="X", detail="bad \ud800\x1b]0;title\x07").detail == "bad \ufffd ]0;title"
