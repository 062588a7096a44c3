"""Foreign text is made fit for the record and the screen."""

import json

from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.canonical import decode, encode
from rsi_master.core.experiment import Rejection
from rsi_master.core.text import clean, escaped, line


def test_escapes_surrogates_and_lines_do_not_survive() -> None:
    assert clean("a\x1b[2Jb\ud800\nc\u202ed") == "a [2Jb\ufffd c d"


@given(st.text(st.characters(exclude_categories=[]), max_size=2000), st.integers(1, 300))
def test_any_text_can_be_recorded_afterwards(text: str, limit: int) -> None:
    fit = clean(text, limit)
    assert len(fit) <= limit
    assert decode(encode(fit)) == fit
    assert fit.isprintable()


def test_a_line_is_whole_and_one() -> None:
    assert line("a\n\x1b]52;c;eA==\x07\u202eb" + "c" * 9000) == "a ]52;c;eA== b" + "c" * 9000


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_escaped_json_has_the_same_value_and_nothing_that_does_not_show(text: str) -> None:
    whole = {text: [text, 1]}
    told = escaped(json.dumps(whole, ensure_ascii=False))
    assert told.isprintable()
    assert json.loads(told) == json.loads(json.dumps(whole))


def test_letters_that_show_stay_in_json() -> None:
    assert escaped('{"a":"ü\u202e\x9b\U000e0041"}') == '{"a":"ü\\u202e\\u009b\\udb40\\udc41"}'


def test_a_rejection_carries_fit_text_only() -> None:
    assert Rejection(code="X", detail="bad \ud800\x1b]0;title\x07").detail == "bad \ufffd ]0;title"
