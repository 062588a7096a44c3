"""The open verifier in a job: asked with the reference where the prompt bears one."""

from collections import Counter

import pytest

from rsi_master.core.artifact import Problem, Prompt
from rsi_master.core.failure import Drop
from rsi_master.programs.jobs import verifier
from rsi_master.programs.jobs.result import Untrainable
from rsi_master.programs.own import reading

ENTRY = f"{reading.__name__}:points"
PROBLEMS = [Problem(prompt="2 + 2", answer="4"), Problem(prompt="2 + 3", answer="so\n#### 5")]


def test_answers_are_compared_with_the_reference_of_their_prompt() -> None:
    verify = verifier.load(ENTRY, PROBLEMS)
    assert [verify(row.prompt, answer) for row in PROBLEMS for answer in ("4.", "5", "")] == [
        1.0,
        0.0,
        0.0,
        0.0,
        1.0,
        0.0,
    ]


def test_a_prompt_without_a_reference_is_not_known_and_is_counted() -> None:
    dropped: Counter[Drop] = Counter()
    asked = [*PROBLEMS, Prompt(prompt="2 + 4")]
    verify = verifier.load(ENTRY, asked)
    assert verifier.known(asked, verify, dropped) == PROBLEMS
    assert dropped == {"unverifiable": 1}
    with pytest.raises(Untrainable, match="gives None"):
        verifier.points(verify, "2 + 4", "6")


def test_prompts_that_bear_different_answers_are_asked_by_neither_and_counted() -> None:
    other = Problem(prompt="2 + 2", answer="5")
    asked = [*PROBLEMS, other, PROBLEMS[1]]
    dropped: Counter[Drop] = Counter()
    verify = verifier.load(ENTRY, asked)
    assert verifier.known(asked, verify, dropped) == [PROBLEMS[1], PROBLEMS[1]]
    assert dropped == {"contradictory": 2}


def test_a_verifier_of_prompts_alone_is_asked_as_before() -> None:
    verify = verifier.load("rsi_master.programs.nano.verifiers:points", [Prompt(prompt="?")])
    assert verify("?", "!") is None
    for entry in (None, "rsi_master.programs.own.reading:nothing", "no.such.module:points"):
        with pytest.raises(Untrainable) as none:
            verifier.load(entry, PROBLEMS)
        assert none.value.failure.code == "NO_VERIFIER"
