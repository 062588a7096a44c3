"""Answers are read strictly: near misses, decoration and hedging get no credit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.programs.nano.format import TASKS, Task, prompt_of
from rsi_master.programs.nano.generator.graders import Verdict, grade, hidden_inputs
from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.generator.tasks.code import INPUTS
from rsi_master.programs.nano.reading import answer_of, last_number

QUESTIONS: dict[Task, tuple[str, str]] = {
    "sums": ("ann has 12 coins, gets 23, gives 14, loses 10", "11"),
    "chain": ("10 +3 *2 +7 *4 +9 mod 11", "9"),
    "facts": ("badefu home beast", "otter"),
    "calls": ("dim(level,hour,room) ring(day,size,tone): dim room hall, hour 4, level 7", ""),
    "code": ("x, add 3, double, from 9", "9-(x+3)*2"),
    "write": ("list 4 beast, first lion, last bear, no wolf", "lion fox deer bear"),
    "care": ("ill with cough, rash, fever, avoid mint", "honey oat sage"),
}


def _item(task: Task, name: str = "item-1", question: str = "") -> Item:
    asked, reference = QUESTIONS[task]
    return Item(name, task, prompt_of(question or asked), reference, "key")


@pytest.mark.parametrize(
    ("total", "output", "verdict"),
    [
        (11, " 11", "right"),
        (11, " 11.", "right"),
        (11, " 711", "wrong"),
        (11, " 11.5", "wrong"),
        (11, " 110", "wrong"),
        (11, " 11x", "no_answer"),
        (11, " 20-9=11; answer 11", "right"),
        (11, " 20-9=11; answer 12", "wrong"),
        (11, " 11; answer", "no_answer"),
        (11, " answer 7; answer 11", "right"),
        (11, " 11 or 12", "wrong"),
        (-11, " \u221211", "right"),
        (-11, " 11", "wrong"),
        (11, " -11", "wrong"),
        (11, " 22-11", "right"),
        (-11, " 22-11", "wrong"),
        (1300, " 1,300", "right"),
        (1300, " 1,30", "no_answer"),
        (1300, " 1,1300", "no_answer"),
        (1300, " 5,001,300", "wrong"),
        (0, " 0", "right"),
        (0, " -0", "right"),
        (0, " 000", "right"),
        (11, " 0011", "right"),
        (11, " \uff11\uff11", "right"),
        (11, " \u0661\u0661", "no_answer"),
        (11, " 1,2,11", "no_answer"),
        (11, " 11\u0661", "no_answer"),
        (11, " 11\u00e9", "no_answer"),
        (11, " 11,\u00e9", "no_answer"),
        (11, " 11_", "no_answer"),
        (11, " 11.5x", "no_answer"),
        (11, " 11.\u0661", "no_answer"),
        (11, " 11.5.6", "no_answer"),
        (11, " 11, 12", "wrong"),
        (11, " 12, 11", "right"),
        (11, " 11, so it is", "right"),
        (11, " 11 \u0661", "right"),
        (-3, " -3", "right"),
        (-11, " 3+(8)-11", "wrong"),
        (11, "", "no_answer"),
        (11, " i do not know", "no_answer"),
    ],
)
def test_numbers(total: int, output: str, verdict: Verdict) -> None:
    sign = f"gets {total}" if total >= 0 else f"gives {-total}"
    question = f"ann has 0 coins, {sign if abs(total) < 1000 else 'gets 650, gets 650'}"
    assert grade(_item("sums", question=question), output).verdict == verdict


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (" 9", "right"),
        (" 10+3=2; 2*2=4; 4+7=0; 0*4=0; 0+9=9; answer 9", "right"),
        (" 9 mod 11", "wrong"),
        (" 20", "wrong"),
        (" -2", "wrong"),
        (" nine", "no_answer"),
    ],
)
def test_chain(output: str, verdict: Verdict) -> None:
    assert grade(_item("chain"), output).verdict == verdict


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (" otter", "right"),
        (" Otter.", "right"),
        (" OTTER", "right"),
        (" badefu home tavo; tavo beast otter; answer otter", "right"),
        (" Answer: otter", "right"),
        (" otters", "wrong"),
        (" mole", "wrong"),
        (" otter mole", "no_answer"),
        (" answer otter or mole", "no_answer"),
        (" otter; answer", "no_answer"),
        (" i do not know", "no_answer"),
        ("", "no_answer"),
    ],
)
def test_facts(output: str, verdict: Verdict) -> None:
    assert grade(_item("facts"), output).verdict == verdict


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (" dim(7,4,hall)", "right"),
        (" dim(7, 4, hall).", "right"),
        (" dim( 7 ,4,hall )", "right"),
        (" dim (7,4,hall)", "right"),
        (" dim( 7 , 4 , h a l l )", "wrong"),
        (" dim(7,4,ha ll)", "wrong"),
        (" di m(7,4,hall)", "no_answer"),
        (" dim(level,hour,room); level 7, hour 4, room hall; answer dim(7,4,hall)", "right"),
        (" dim(hall,4,7)", "wrong"),
        (" dim(4,7,hall)", "wrong"),
        (" dim(7,4)", "wrong"),
        (" dim(7,4,hall,1)", "wrong"),
        (" ring(7,4,hall)", "wrong"),
        (" dim(07,4,hall)", "wrong"),
        (" dim(7,4,attic)", "wrong"),
        (" dim(level=7,hour=4,room=hall)", "wrong"),
        (" dim()", "wrong"),
        (" dim(7,4,hall) dim(1,2,hall)", "wrong"),
        (" Dim(7,4,hall)", "no_answer"),
        (" dim 7 4 hall", "no_answer"),
        (" dim(7,4,hall", "no_answer"),
        (" it is dim(7,4,hall)", "no_answer"),
        ("", "no_answer"),
    ],
)
def test_calls(output: str, verdict: Verdict) -> None:
    assert grade(_item("calls"), output).verdict == verdict


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (" 9-(x+3)*2", "right"),
        (" 3-2*x", "right"),
        (" x+3; (x+3)*2; answer 9-(x+3)*2", "right"),
        (" 9-(x+3)*2.", "right"),
        (" 9-(x\uff0b3)*2", "right"),
        (" 9\u2212(x+3)*2", "right"),
        (" 9-x+3*2", "wrong"),
        (" 9-(x+3)*3", "wrong"),
        (" x", "wrong"),
        (" 9", "wrong"),
        (" 9-(x+3)*2; x", "no_answer"),
        (" 9-(x+3)*2//(x-x)", "wrong"),
        (" lambda x: 9-(x+3)*2", "no_answer"),
        (" __import__('os')", "no_answer"),
        (" 9-(y+3)*2", "no_answer"),
        ("", "no_answer"),
    ],
)
def test_code(output: str, verdict: Verdict) -> None:
    assert grade(_item("code"), output).verdict == verdict


def test_hidden_inputs_hold_the_fixed_ones_and_depend_on_the_item() -> None:
    item, other = _item("code"), _item("code", "item-2")
    assert hidden_inputs(item) == hidden_inputs(item) != hidden_inputs(other)
    assert set(INPUTS) <= set(hidden_inputs(item)) & set(hidden_inputs(other))
    assert {-1, 0, 1} <= set(INPUTS)
    assert max(map(abs, hidden_inputs(item))) <= 90


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (" lion fox deer bear", "right"),
        (" Lion, Fox, Deer, Bear.", "right"),
        (" 1 lion, 2 fox, 3 deer, 4 bear; answer lion fox deer bear", "right"),
        (" lion fox bear", "wrong"),
        (" lion fox deer mole bear", "wrong"),
        (" fox lion deer bear", "wrong"),
        (" lion fox bear deer", "wrong"),
        (" lion fox wolf bear", "wrong"),
        (" lion fox fox bear", "wrong"),
        (" lion fox oak bear", "wrong"),
        (" lion fox unicorn bear", "wrong"),
        (" 1 lion, 2 fox, 3 deer, 4 bear", "no_answer"),
        (" lion; fox; deer; bear", "right"),
        (" lion,fox,deer,bear", "right"),
        (" lion ,  fox;deer\n,; bear", "right"),
        (" lion.fox.deer.bear", "no_answer"),
        (" lion/fox deer bear", "no_answer"),
        (" li\u00f3n fox deer bear", "no_answer"),
        (" lion deer fox bear mole", "wrong"),
        (" ,;", "no_answer"),
        ("", "no_answer"),
    ],
)
def test_write(output: str, verdict: Verdict) -> None:
    """A wrong list breaks one rule: length, first, last, what is left out, repetition, theme."""
    assert grade(_item("write"), output).verdict == verdict


@pytest.mark.parametrize(
    ("output", "points"),
    [
        (" honey oat sage", 1.0),
        (" sage honey oat", 1.0),
        (" Honey, oat, sage.", 1.0),
        (" honey,oat,sage", 1.0),
        (" honey; oat; sage", 1.0),
        (" honey  oat\n,; SAGE", 1.0),
        (" honey oat: sage", 1 / 3),
        (" honey oat sage 3", 2 / 3),
        (" cough honey; rash oat; fever sage; answer honey oat sage", 1.0),
        (" honey oat", 2 / 3),
        (" honey", 1 / 3),
        (" honey oat mint", 1 / 3),
        (" honey oat sage mint", 2 / 3),
        (" honey oat sage mint mint mint", 0.0),
        (" honey honey honey", 0.0),
        (" honey oat oat", 1 / 3),
        (" honey oat sage sage", 2 / 3),
        (" take honey oat sage", 2 / 3),
        (" honey mint basil", 0.0),
        (" mint", 0.0),
    ],
)
def test_care_has_partial_credit(output: str, points: float) -> None:
    found = grade(_item("care"), output)
    assert found.points == pytest.approx(points)
    assert found.verdict == ("right" if points == 1.0 else "wrong")


@pytest.mark.parametrize(
    "output", ["", " i do not know", " cough rash fever", " honeyoat", " honey-oat"]
)
def test_care_without_a_remedy_is_no_answer(output: str) -> None:
    assert grade(_item("care"), output).verdict == "no_answer"


@given(st.lists(st.sampled_from(("honey", "oat", "sage", "mint", "basil", "rest")), max_size=8))
def test_naming_more_never_helps_in_care(words: list[str]) -> None:
    """All remedies at once, or one of them again, earn less than the wanted ones alone."""
    item = _item("care")
    points = grade(item, " ".join(words)).points
    assert 0.0 <= points <= 1.0
    assert (points == 1.0) == (sorted(words) == ["honey", "oat", "sage"])
    extra = grade(item, " ".join((*words, "basil"))).points
    assert extra <= points


_SEPARATORS = st.text(" \t\n,;", min_size=1, max_size=4)


@given(st.lists(_SEPARATORS, min_size=3, max_size=3))
def test_lists_are_read_alike_whatever_separates_their_words(between: list[str]) -> None:
    """Lists and remedies: any run of spaces, commas and semicolons."""
    first, second, third = between
    lists = grade(_item("write"), f" lion{first}fox{second}deer{third}bear")
    remedies = grade(_item("care"), f" honey{first}oat{second}sage{third}")
    assert (lists.points, remedies.points) == (1.0, 1.0)


HOSTILE = {
    "separators": ", ; " * 5_000 + "-",
    "commas after a number": "1" + "," * 10_000 + "x",
    "empty": "",
    "spaces": " \n\t ",
    "control characters": "".join(map(chr, range(32))) + "\x7f\x80\u202e\ufeff",
    "lone surrogate": "\ud800 12",
    "digits": "9" * 10_000,
    "letters": "a" * 10_000,
    "signs": "-" * 10_000,
    "numbers": "1," * 5_000,
    "markers": "answer " * 1_500,
    "words": "lion " * 2_000,
    "remedies": "honey " * 2_000,
    "brackets": "(" * 5_000 + "x" + ")" * 5_000,
    "nested": "(" * 120 + "x" + ")" * 120,
    "call": "dim(" * 2_500 + ")" * 2_500,
    "power": "9*" * 60 + "8",
    "emoji": "\U0001f600" * 2_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("task", TASKS)
def test_hostile_outputs_are_graded_and_never_right(task: Task, name: str) -> None:
    found = grade(_item(task), HOSTILE[name])
    assert found.verdict in ("wrong", "no_answer")
    assert (found.extracted is None) == (found.verdict == "no_answer")


@pytest.mark.parametrize("task", TASKS)
@given(output=st.one_of(st.text(), st.text("0123456789-+*/%(),.;: \nxanswerlionhoney\u2212")))
def test_any_output_is_graded(task: Task, output: str) -> None:
    found = grade(_item(task), output)
    assert 0.0 <= found.points <= 1.0
    assert (found.verdict == "right") == (found.points == 1.0)
    assert task == "care" or found.points in (0.0, 1.0)
    assert (found.extracted is None) == (found.verdict == "no_answer")


def test_an_item_that_does_not_read_back_is_named() -> None:
    stale = _item("sums", "item-7", "what is 1 and 2")
    with pytest.raises(ValueError, match="item item-7 of sums does not read back"):
        grade(stale, " 3")


@given(st.integers(-(10**30), 10**30))
def test_a_number_is_read_however_it_is_grouped_or_padded(number: int) -> None:
    sign = "-" if number < 0 else ""
    for text in (f"{number}", f"{number:,}", f"{sign}00{abs(number)}", f"so {number} in all"):
        assert last_number(text) == str(number)
        assert last_number(f"{text}, and") == last_number(f"{text}.") == str(number)


@given(st.integers(0, 10**9), st.characters(categories=("L", "Nd", "Nl", "No")))
def test_a_number_that_a_letter_or_digit_follows_is_none(number: int, char: str) -> None:
    """Of any script; ASCII digits would make it another number."""
    followed = f"{number}{char}"
    assert last_number(followed) in (
        {followed.lstrip("0"), "0"} if char in "0123456789" else {None}
    )
    assert char in "0123456789" or last_number(f"{number}.5{char}") is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("-(51)", "-51"),
        ("7-(51)", "51"),
        ("(51)", "51"),
        ("\uff15\uff11", "51"),
        ("\U0001d7d351", "551"),
        ("51\u00b2", None),
        ("\u00bd", None),
        ("51\u2488", None),
        ("\u2464", None),
    ],
)
def test_signs_and_forms_of_digits_keep_their_value(text: str, number: str | None) -> None:
    assert last_number(answer_of(f"answer {text}")) == number


@given(st.text(), st.text("abcdefghijklmnopqr0123456789", min_size=1))
def test_the_answer_is_what_follows_the_last_marker(before: str, result: str) -> None:
    assert answer_of(f"{before}; answer {result}") == result
    assert answer_of(f"{before}; ANSWER: {result}.") == result
