"""Prompts that differ in one number have different right answers, so none stands for another."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

from rsi_master.programs.nano.format import Task, prompt_of
from rsi_master.programs.nano.generator.graders import grade, hidden_inputs
from rsi_master.programs.nano.generator.problem import Item, Problem
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.lexicon import THEMES
from rsi_master.programs.nano.minilang import evaluate, parse
from rsi_master.programs.nano.partition import SPLITS, Split
from rsi_master.programs.nano.questions.code import Program
from rsi_master.programs.nano.questions.sums import Sum
from rsi_master.programs.nano.questions.write import Order
from rsi_master.programs.nano.verifiers import Question, read


def test_another_number_is_another_answer_in_sums_chains_calls_and_lists() -> None:
    """The changed text is read again; the right answer of the one is wrong for the other."""
    changed = 0
    for task in ("sums", "chain", "calls", "write"):
        for problem in _problems(task, 12):
            for other in _renumbered(problem.question):
                assert other.points(problem.right.result) == 0.0, (problem.question, other.text)
                changed += 1
    assert changed > 3000


def test_another_number_is_another_function_to_the_grader() -> None:
    for problem in _problems("code", 6):
        item = Item(problem.key, "code", problem.prompt, problem.right.result, problem.key)
        values = _values(problem.right.result, hidden_inputs(item))
        for other in _renumbered(problem.question):
            assert isinstance(other, Program)
            found = _values(other.expressions[-1], hidden_inputs(item))
            assert found != values, (problem.question, other.text)


def test_the_grader_refuses_what_answers_a_neighbour() -> None:
    for problem in _problems("code", 1):
        item = Item("item", "code", problem.prompt, problem.right.result, problem.key)
        for other in _renumbered(problem.question):
            assert isinstance(other, Program)
            assert grade(item, other.expressions[-1]).verdict == "wrong"


def test_no_list_keeps_to_two_orders_that_differ_in_their_length() -> None:
    for problem in _problems("write", 12):
        asked = Order.read(problem.question)
        assert asked is not None
        named = {asked.first, asked.last, asked.without}
        free = [word for word in THEMES[asked.theme] if word not in named]
        for count in range(2, 10):
            answer = " ".join((asked.first, *free[: count - 2], asked.last))
            orders = (asked, *_renumbered(problem.question))
            assert sum(order.points(answer) for order in orders) == 1.0


def test_calls_that_differ_in_numbers_alone_differ_whatever_the_numbers() -> None:
    rng = Random(3)
    for problem in _problems("calls", 20):
        numbers = re.findall("[0-9]+", problem.question)
        other = re.sub("[0-9]+", lambda _: str(rng.randrange(1, 100)), problem.question)
        found = read(prompt_of(other))
        assert found is not None
        same = re.findall("[0-9]+", other) == numbers
        assert found[1].points(problem.right.result) == float(same)


def test_the_length_of_a_list_does_not_move_it_to_another_split() -> None:
    for problem in _problems("write", 20):
        assert {other.key for other in _renumbered(problem.question)} == {problem.key}


def test_programs_that_differ_in_numbers_alone_lie_in_one_split() -> None:
    """Several numbers may make up for each other: the function is the same, and so is the key."""
    first, second = (Program.read(f"x, add {a}, add {b}, double") for a, b in ((2, 5), (3, 4)))
    assert first is not None
    assert second is not None
    every = range(-99, 99)
    assert _values(first.expressions[-1], every) == _values(second.expressions[-1], every)
    assert first.key == second.key
    for problem in _problems("code", 20):
        assert {other.key for other in _renumbered(problem.question)} == {problem.key}


def test_several_numbers_may_make_up_for_each_other_in_sums() -> None:
    """The law is for one number: hundreds of stories share each of a hundred results."""
    sums = [Sum.read(f"ann has {a} coins, gets {b}, gets 10") for a, b in ((11, 12), (12, 11))]
    assert len({asked.key for asked in sums if asked}) == 2
    assert len({asked.total for asked in sums if asked}) == 1


def _problems(task: Task, count: int) -> Iterator[Problem]:
    for split in SPLITS:
        yield from islice(_drawn(task, split), count)


def _drawn(task: Task, split: Split) -> Iterator[Problem]:
    rng = Random(29)
    while True:
        yield GENERATORS[task](rng, split)


def _renumbered(question: str) -> Iterator[Question]:
    """Yield the questions that read where exactly one number, not the modulus, is another one."""
    for place in re.finditer(r"(?<!mod )\b[0-9]+", question):
        for number in (*range(1, 31), 42, 99):
            text = question[: place.start()] + str(number) + question[place.end() :]
            found = read(prompt_of(text))
            if found is not None and text != question:
                yield found[1]


def _values(expression: str, inputs: Sequence[int]) -> list[int]:
    parsed = parse(expression)
    return [evaluate(parsed, x) for x in inputs]
