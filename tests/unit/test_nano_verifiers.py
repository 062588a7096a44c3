"""The open verifier: silent outside the train split, and of one mind with the sealed grader."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.programs.nano.format import MARKER, TASKS, Style, Task
from rsi_master.programs.nano.generator.graders import grade
from rsi_master.programs.nano.generator.problem import Item, Problem
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.partition import SPLITS
from rsi_master.programs.nano.verifiers import VERIFIABLE, points

STYLES: tuple[Style, ...] = ("direct", "scratchpad")
UNVERIFIED: tuple[Task, ...] = ("facts", "care")


def _problems(task: Task, count: int, seed: int = 31) -> list[Problem]:
    rng = Random(seed)
    return [GENERATORS[task](rng, "train") for _ in range(count)]


def _item(problem: Problem) -> Item:
    return Item(problem.key, problem.task, problem.prompt, problem.right.result, problem.key)


def test_every_task_is_verifiable_or_known_to_be_not() -> None:
    assert sorted((*VERIFIABLE, *UNVERIFIED)) == sorted(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_no_prompt_of_another_split_has_a_verdict(task: Task) -> None:
    rng = Random(37)
    for split in SPLITS:
        for _ in range(60):
            problem = GENERATORS[task](rng, split)
            found = [points(problem.prompt, problem.right.completion(style)) for style in STYLES]
            known = split == "train" and task in VERIFIABLE
            assert found == ([1.0, 1.0] if known else [None, None])


@given(st.text(), st.text())
def test_junk_has_no_verdict(prompt: str, output: str) -> None:
    assert points(prompt, output) is None


@pytest.mark.parametrize("task", VERIFIABLE)
def test_what_surrounds_a_prompt_takes_its_verdict_away(task: Task) -> None:
    problem = _problems(task, 1)[0]
    right = problem.right.result
    assert points(problem.prompt, right) == 1.0
    for near in (problem.question, f" {problem.prompt}", f"{problem.prompt} ", problem.prompt * 2):
        assert points(near, right) is None


@pytest.mark.parametrize("task", VERIFIABLE)
def test_a_careless_answer_has_no_points(task: Task) -> None:
    """A careless program may agree with the right one where the open verifier looks."""
    lenient = 0
    for problem in _problems(task, 300):
        found = {points(problem.prompt, problem.careless.completion(style)) for style in STYLES}
        assert found in ({0.0}, {1.0})
        lenient += found == {1.0}
        assert grade(_item(problem), problem.careless.result).points == 0.0
    assert lenient <= (10 if task == "code" else 0)


@pytest.mark.parametrize("task", VERIFIABLE)
def test_verifier_and_grader_agree_on_right_careless_and_foreign_answers(task: Task) -> None:
    """A program may differ where the verifier does not look, never the other way round."""
    problems = _problems(task, 50, seed=41)
    foreign = [*problems[1:], problems[0]]
    for problem, other in zip(problems, foreign, strict=True):
        for answer in (problem.right, problem.careless, other.right):
            for style in STYLES:
                open_points = points(problem.prompt, answer.completion(style))
                sealed = grade(_item(problem), answer.completion(style)).points
                assert open_points is not None
                assert open_points == sealed or (task == "code" and open_points > sealed)


def test_a_list_is_no_list_with_its_numbers_or_in_other_marks() -> None:
    for problem in _problems("write", 20):
        (numbered,), result = problem.right.steps, problem.right.result
        for output in (numbered, result.replace(" ", "/"), result.replace(" ", ". ")):
            assert points(problem.prompt, output) == 0.0
            assert grade(_item(problem), output).verdict == "no_answer"
        for between in (",", "; ", "  ", "\n"):
            assert points(problem.prompt, result.replace(" ", between)) == 1.0


@given(st.data())
def test_they_agree_on_damaged_answers(data: st.DataObject) -> None:
    """One character more, less or another: no form has points that the grader does not take."""
    task = data.draw(st.sampled_from(VERIFIABLE))
    problem = data.draw(st.sampled_from(_DAMAGED[task]))
    right = problem.right.completion(data.draw(st.sampled_from(STYLES)))
    place = data.draw(st.integers(0, len(right)))
    put = data.draw(st.sampled_from(("", "1", "-", ",", " ", "x", ")", ".", "a", f" {MARKER} ")))
    output = right[:place] + put + right[place + data.draw(st.integers(0, 1)) :]
    verdict, found = grade(_item(problem), output), points(problem.prompt, output)
    unseen = task == "code" and (verdict.verdict, found) == ("wrong", 1.0)
    assert found == verdict.points or unseen


_DAMAGED = {task: _problems(task, 20, seed=43) for task in VERIFIABLE}


@pytest.mark.parametrize("task", VERIFIABLE)
@given(output=st.one_of(st.text(), st.text("0123456789-+*/%(),.; \nx\u2212answer")))
def test_any_output_has_points_between_nothing_and_all(task: Task, output: str) -> None:
    found = points(_DAMAGED[task][0].prompt, output)
    assert found in (0.0, 1.0)
