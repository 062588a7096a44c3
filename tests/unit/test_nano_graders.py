"""Answers are read strictly: near misses, decoration and hedging get no credit."""

import pytest

from rsi_master.programs.nano.format import Task
from rsi_master.programs.nano.generator.graders import Verdict, grade, hidden_inputs
from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.verifiers import check, extract


def _item(task: Task, reference: str, name: str = "item-1") -> Item:
    return Item(name, task, "Q: ?\nA:", reference, "key")


@pytest.mark.parametrize(
    ("reference", "output", "verdict"),
    [
        ("11", " 11", "right"),
        ("11", " 11.", "right"),
        ("11", " 711", "wrong"),
        ("11", " 11.5", "wrong"),
        ("11", " 110", "wrong"),
        ("11", " 11x", "no_answer"),
        ("11", " 20-9=11; answer 11", "right"),
        ("11", " 20-9=11; answer 12", "wrong"),
        ("11", " 11; answer", "no_answer"),
        ("11", " answer 7; answer 11", "right"),
        ("11", " 11 or 12", "wrong"),
        ("-11", " \u221211", "right"),
        ("-11", " 11", "wrong"),
        ("11", " -11", "wrong"),
        ("11", " 22-11", "right"),
        ("-11", " 22-11", "wrong"),
        ("130000", " 130,000", "right"),
        ("130000", " 130,00", "no_answer"),
        ("130000", " 1,130,000", "wrong"),
        ("0", " 0", "right"),
        ("11", " 1,2,11", "no_answer"),
        ("-11", " 3+(8)-11", "wrong"),
        ("11", "", "no_answer"),
        ("11", " i do not know", "no_answer"),
    ],
)
def test_sums(reference: str, output: str, verdict: Verdict) -> None:
    assert grade(_item("sums", reference), output).verdict == verdict


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (" doran", "right"),
        (" Doran.", "right"),
        (" home of tavo: mirel; land of mirel: doran; answer doran", "right"),
        (" Answer: doran", "right"),
        (" dorana", "wrong"),
        (" mirel", "wrong"),
        (" doran mirel", "no_answer"),
        (" answer doran or mirel", "no_answer"),
        (" doran; answer", "no_answer"),
        (" i do not know", "no_answer"),
        ("", "no_answer"),
    ],
)
def test_facts(output: str, verdict: Verdict) -> None:
    assert grade(_item("facts", "doran"), output).verdict == verdict


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (" (x+3)*2", "right"),
        (" 2*x+6", "right"),
        (" x+3; answer (x+3)*2", "right"),
        (" (x+3)*2.", "right"),
        (" (x\uff0b3)*2", "right"),
        (" x+3*2", "wrong"),
        (" (x+3)*2; x", "no_answer"),
        (" (x+3)*2//(x-x)", "wrong"),
        (" lambda x: (x+3)*2", "no_answer"),
        (" __import__('os')", "no_answer"),
        ("", "no_answer"),
    ],
)
def test_code(output: str, verdict: Verdict) -> None:
    assert grade(_item("code", "(x+3)*2"), output).verdict == verdict


def test_hidden_inputs_depend_on_the_item_and_tell_near_programs_apart() -> None:
    item = _item("code", "max(x,7)")
    assert hidden_inputs(item) == hidden_inputs(item)
    assert hidden_inputs(item) != hidden_inputs(_item("code", "max(x,7)", "item-2"))
    assert grade(item, " max(x,8)").verdict == "wrong" or 7 not in hidden_inputs(item)
    assert grade(item, " x").verdict == "wrong"
    assert grade(item, " 7").verdict == "wrong"


def test_the_open_check_agrees_with_the_grader() -> None:
    references: dict[Task, str] = {"sums": "7", "facts": "doran", "code": "x*2"}
    for task, reference in references.items():
        answer = extract(task, f" answer {reference}")
        assert answer is not None
        assert check(task, answer, reference)
    assert not check("code", "x*3", "x*2")
    assert not check("code", "not code", "x*2")
