"""Careless answers: in every task they earn less than right ones, whatever is drawn."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.generator.graders import grade
from rsi_master.programs.nano.generator.problem import Item
from rsi_master.programs.nano.generator.tasks import GENERATORS, chain
from rsi_master.programs.nano.partition import SPLITS
from rsi_master.programs.nano.questions.chain import Chain

DRAWS = 350
"""Of each split."""


@pytest.mark.parametrize("task", TASKS)
def test_a_careless_answer_earns_less_than_the_right_one(task: Task) -> None:
    rng = Random(53)
    for split in SPLITS:
        for number in range(DRAWS):
            problem = GENERATORS[task](rng, split)
            right, careless = problem.right, problem.careless
            item = Item(f"item-{number}", task, problem.prompt, right.result, problem.key)
            assert grade(item, right.completion("scratchpad")).points == 1.0
            assert grade(item, careless.completion("scratchpad")).points < 1.0, problem
            assert grade(item, careless.completion("direct")).points < 1.0, problem


def test_where_no_ten_taken_for_eleven_shows_the_last_step_has_one_too_many() -> None:
    asked = Chain.read("1 +3 +2 +1 +1 mod 11")
    assert asked is not None
    careless = chain._careless(Random(1), asked)
    assert careless.steps == ("1+3=4", "4+2=6", "6+1=7", "7+1=9")
    assert careless.result == "9"


_SMALL = st.lists(st.sampled_from([op for op in chain.OPERATIONS if op[1] < 4]), min_size=4)


@given(st.integers(1, 10), _SMALL, st.integers(0, 9))
def test_every_chain_has_a_slip_that_shows(
    start: int, operations: list[tuple[str, int]], seed: int
) -> None:
    """Of small numbers, which often stay below ten."""
    asked = Chain(start, tuple(operations[: chain.LENGTH]))
    careless = chain._careless(Random(seed), asked)
    assert asked.points(careless.result) == 0.0
    assert careless.steps[-1].endswith(f"={careless.result}")
