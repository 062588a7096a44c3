"""Output of agents' programs: a claim of which only what fits its closed type is taken."""

import json

import pytest

from rsi_master.core.artifact import Pair, Prompt, Row
from rsi_master.core.job import JobStatus
from rsi_master.domains.data import running
from rsi_master.domains.data.running import Unusable, points, rows
from rsi_master.expos.making import Made

STATUS = JobStatus(name="make-1", state="ended", ending="ok")
DONE = {"done": 1, "failures": []}


def made(*lines: object, result: object = DONE) -> Made:
    text = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines)
    told = result if isinstance(result, str) else json.dumps(result)
    return Made(STATUS, {"made.jsonl": text.encode(), "result.json": told.encode()})


def test_rows_of_each_kind_come_out_in_order() -> None:
    several = [
        {"prompt": "a"},
        {"prompt": "a", "completion": "b"},
        {"prompt": "a", "chosen": "b", "rejected": "c"},
    ]
    found = rows(made({"row": 0, "made": several}, {"row": 1, "made": []}, result=two()), 2)
    wanted = (
        Prompt(prompt="a"),
        Row(prompt="a", completion="b"),
        Pair(prompt="a", chosen="b", rejected="c"),
    )
    assert found == (wanted, ())


def two() -> object:
    return {"done": 2, "failures": []}


def test_points_come_out_for_each_answer() -> None:
    left = made({"row": 0, "points": [1.0, None]}, {"row": 1, "points": []}, result=two())
    assert points(left, (2, 0)) == ((1.0, None), ())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"row": 1, "made": []}, "row 0: the line there is that of row 1"),
        ({"row": 0}, "row 0: its line is none of a program: Field required"),
        ({"row": 0, "made": [{"prompt": 1}]}, "row 0: its line is none of a program"),
        ({"row": 0, "made": [{"text": "a"}]}, "row 0: its line is none of a program"),
        ({"row": 0, "made": [], "id": "sha256:1"}, "Extra inputs are not permitted"),
        ({"row": 0, "points": [1]}, "row 0: its line is none of a program"),
        ({"row": 10**60, "made": []}, "row 0: its line is none of a program"),
        ("{", "row 0: its line is none of a program"),
        ("[" * 100_000, "row 0: its line is none of a program"),
        ('{"row": 0, "made": [{"prompt": "\\ud800"}]}', "row 0: its line is none of a program"),
        (f'{{"row": 0, "made": [{{"prompt": "{"x" * (1 << 20)}"}}]}}', "over 1,048,576 bytes"),
    ],
)
def test_a_line_that_is_none_of_a_transform_spoils_all(line: object, told: str) -> None:
    with pytest.raises(Unusable) as refused:
        rows(made(line), 1)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "given", ["NaN", "Infinity", "1.01", "-0.01", '"1"', "true", "[1]", "1e999"]
)
def test_points_are_numbers_in_0_to_1_or_none(given: str) -> None:
    with pytest.raises(Unusable, match="row 0: its line is none of a program"):
        points(made(f'{{"row": 0, "points": [{given}]}}'), (1,))


def test_there_are_points_for_each_answer_and_lines_for_each_row() -> None:
    with pytest.raises(Unusable, match="row 0: 1 points for 2 answers"):
        points(made({"row": 0, "points": [1.0]}), (2,))
    with pytest.raises(Unusable, match="2 lines are left for 1 rows"):
        rows(made({"row": 0, "made": []}, {"row": 1, "made": []}), 1)
    with pytest.raises(Unusable, match="1 lines are left for 2 rows"):
        rows(made({"row": 0, "made": []}, result=two()), 2)


def test_rows_without_end_are_not_read_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "ROWS", 5)
    lines = [{"row": at, "made": [{"prompt": "a"}] * 3} for at in range(2)]
    with pytest.raises(Unusable, match="row 1: over 5 rows are made"):
        rows(made(*lines, result=two()), 2)


@pytest.mark.parametrize(
    "result",
    [
        "",
        "{",
        "[]",
        '{"done": 1}',
        '{"done": 1, "failures": [{}, {}, {}, {}]}',
        f'{{"done": 1, "failures": [{{"row": {10**60}, "line": 1, "error": "a"}}]}}',
        f'{{"done": 1, "failures": [{{"row": 1, "line": {10**60}, "error": "a"}}]}}',
    ],
)
def test_a_result_that_is_none_is_no_success(result: str) -> None:
    with pytest.raises(Unusable, match="ended its process before its work was done"):
        rows(made({"row": 0, "made": []}, result=result), 1)


def test_failures_are_told_in_a_line_with_row_and_line() -> None:
    failures = [
        {"row": 3, "line": 2, "error": "KeyError: 'q'"},
        {"row": None, "line": None, "error": "no words"},
        {"row": None, "line": None, "error": "\x07\u200b"},
    ]
    told = r"^row 3, line 2, KeyError: 'q'; no words; an error without words$"
    with pytest.raises(Unusable, match=told):
        rows(made(result={"done": 0, "failures": failures}), 5)


def test_a_job_that_did_not_end_well_leaves_nothing() -> None:
    left = Made(STATUS.model_copy(update={"ending": "timeout"}), problem="the job ended timeout")
    with pytest.raises(Unusable, match="the job ended timeout"):
        rows(left, 1)
