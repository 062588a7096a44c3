"""Answers to own questions: what is read of a text, and what counts as equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.programs.own.reading import answer_of, points


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Paris", "paris"),
        ("  PARIS.\n", "paris"),
        ("New\n  York", "new york"),
        ("130,000", "130000"),
        ("$29.00", "29"),
        ("-$5", "-5"),
        ("\u22125", "-5"),
        ("\uff15", "5"),
        ("007", "7"),
        ("-0", "0"),
        ("1.50", "1.5"),
        ("72 clips, altogether.", "72 clips, altogether"),
        ("3.10 and 1,000", "3.1 and 1000"),
        ("1,5", "1,5"),
        ("1.2.30", "1.2.30"),
        ("5-03", "5-3"),
        ("v007", "v007"),
        ("x\u00b2", "x\u00b2"),
        ("4\u200b2", "42"),
        ("**D**", "d"),
        ("*", "*"),
        (".", "."),
        ("", ""),
        ("  \n ", ""),
    ],
)
def test_an_answer_has_one_form(text: str, answer: str) -> None:
    assert answer_of(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("3 + 4 = 7\n#### 7", "7"),
        ("Answer: 8", "8"),
        ("**Answer:** 8", "8"),
        ("The answer is: 9.", "9"),
        ("so the ANSWER IS blue", "blue"),
        ("Answer: 1\nno, answer: 2", "2"),
        ("answer:\n\n 12\nQuestion: 3 + 3", "12"),
        ("answer:", ""),
        ("#### \n ", ""),
        ("it answers: no marker", "it answers: no marker"),
    ],
)
def test_it_is_the_line_after_the_last_marker(text: str, answer: str) -> None:
    assert answer_of(text) == answer


def test_points_need_a_reference_and_something_to_compare() -> None:
    assert points("2 + 2", " 4.", "4") == 1.0
    assert points("2 + 2", "so 2 + 2 is\nAnswer: 4", "2 + 2 = 4\n#### 4") == 1.0
    assert points("2 + 2", "5", "4") == 0.0
    assert points("2 + 2", "", "4") == 0.0
    assert points("2 + 2", "4") is None


@given(st.text())
def test_every_text_is_read_and_equals_itself(text: str) -> None:
    assert points("", text, text) == float(answer_of(text) != "")
