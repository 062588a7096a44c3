"""The open questions: each comes back from its text, and what is nearly one is none."""

import re
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.programs.nano.format import Task, prompt_of
from rsi_master.programs.nano.generator.problem import Problem
from rsi_master.programs.nano.generator.tasks import GENERATORS, code
from rsi_master.programs.nano.minilang import evaluate, parse
from rsi_master.programs.nano.partition import SPLITS, normalised
from rsi_master.programs.nano.questions.calls import Call, Signature
from rsi_master.programs.nano.questions.chain import Chain
from rsi_master.programs.nano.questions.code import OPERATIONS, Operation, Program
from rsi_master.programs.nano.questions.sums import Sum
from rsi_master.programs.nano.questions.write import Order
from rsi_master.programs.nano.verifiers import VERIFIABLE, Question, read

CLASSES: dict[Task, type[Question]] = {
    "sums": Sum,
    "chain": Chain,
    "calls": Call,
    "code": Program,
    "write": Order,
}
EXAMPLES: dict[Task, str] = {
    "sums": "ann has 12 coins, gets 23, gives 14, loses 10",
    "chain": "10 +3 *2 +7 *4 +9 mod 11",
    "calls": "dim(level,hour,room) ring(day,tone,size): dim room attic, level 7, hour 42",
    "code": "x, add 3, double, from 9",
    "write": "list 4 beast, first lion, last bear, no wolf",
}
KEYS: dict[Task, str] = {
    "sums": "12+23-14-10",
    "chain": "10 3 2 7 4 9",
    "calls": "dim hour=42 level=7 room=attic",
    "code": "add double from",
    "write": "lion bear wolf",
}
RESULTS: dict[Task, tuple[str, str]] = {
    "sums": ("11", "12"),
    "chain": ("9", "10"),
    "calls": ("dim(7,42,attic)", "dim(attic,7,42)"),
    "code": ("9-(x+3)*2", "9-x+3*2"),
    "write": ("lion fox deer bear", "lion fox wolf bear"),
}

_TEXTS = st.sampled_from(tuple(EXAMPLES.values()))


def _problems(task: Task, count: int) -> list[Problem]:
    rng = Random(17)
    return [GENERATORS[task](rng, split) for split in SPLITS for _ in range(count)]


def test_every_class_of_questions_has_examples() -> None:
    assert set(CLASSES) == set(VERIFIABLE) == set(EXAMPLES)


@pytest.mark.parametrize("task", VERIFIABLE)
def test_an_example_reads_as_its_task_and_has_its_key_and_answer(task: Task) -> None:
    found = read(prompt_of(EXAMPLES[task]))
    assert found is not None
    name, question = found
    assert (name, type(question), question.key) == (task, CLASSES[task], KEYS[task])
    right, wrong = RESULTS[task]
    assert (question.points(right), question.points(wrong), question.points("")) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("task", VERIFIABLE)
def test_problems_of_all_splits_come_back_from_their_text(task: Task) -> None:
    for problem in _problems(task, 60):
        found = read(problem.prompt)
        assert found is not None
        name, question = found
        assert (name, question.key) == (task, problem.key)
        assert question.text == problem.question
        assert CLASSES[task].read(question.text) == question
        others = [one for other, one in CLASSES.items() if other != task]
        assert not any(one.read(problem.question) for one in others)


@pytest.mark.parametrize("task", ["facts", "care"])
def test_tasks_without_a_verifier_do_not_read(task: Task) -> None:
    assert not any(read(problem.prompt) for problem in _problems(task, 50))


NEAR: dict[Task, tuple[str, ...]] = {
    "sums": (
        "ann has 12 coins",
        "ann has 12 coins,",
        "ann has 12 coins, gets",
        "ann has 12 coins, gets 23,",
        "ann has 12  coins, gets 23",
        "ann has 012 coins, gets 23",
        "ann has -12 coins, gets 23",
        "ann has 12 coins, gets +23",
        "ann has 12 coins, gets 1e3",
        "ann has 12 coins, takes 23",
        "ann has 12 coins and gets 23",
        "Ann has 12 coins, gets 23",
        "ann has \u0661\u0662 coins, gets 23",
        "ann has \uff11\uff12 coins, gets 23",
        "ann has 12 coins, gets 23\n",
        "eve has 12 coins, gets 23",
        "ann has " + "9" * 5000 + " coins, gets 23",
    ),
    "chain": (
        "10 mod 11",
        "0 +3 *2 mod 11",
        "11 +3 *2 mod 11",
        "010 +3 mod 11",
        "5 +0 mod 11",
        "5 +10 mod 11",
        "5 -3 mod 11",
        "5 + 3 mod 11",
        "5  +3 mod 11",
        "5 +3 mod 10",
        "5 +3 mod 11 ",
        "5 +3",
        "5 \u00d73 mod 11",
        "5 +\u0663 mod 11",
        "9" * 5000 + " +3 mod 11",
    ),
    "calls": (
        "dim(level,hour) ring(day): dim level 7",
        "dim(level,hour) ring(day): dim level 7, hour 4, day 3",
        "dim(level,hour) ring(day): dim level 7, level 4",
        "dim(level,hour) ring(day): lock level 7, hour 4",
        "dim(level,hour) dim(hour,level): dim level 7, hour 4",
        "dim(level,hour) ring(day): dim level 07, hour 4",
        "dim(level,hour) ring(day): dim level 100, hour 4",
        "dim(level,hour) ring(day): dim level 0, hour 4",
        "dim(level,hour) ring(day): dim level soft, hour 4",
        "dim(level,room) ring(day): dim level 4, room red",
        "dim(level,wing) ring(day): dim level 4, wing 5",
        "dim(level, hour) ring(day): dim level 7, hour 4",
        "dim(level,hour)  ring(day): dim level 7, hour 4",
        "dim(level,hour) ring(day):  dim level 7, hour 4",
        "dim(level,hour) ring(): dim level 7, hour 4",
        "dim(level,hour) ring(day) dim level 7, hour 4",
        "dim(level,hour): dim level \u0667, hour 4",
        "dim: dim ",
    ),
    "code": (
        "x",
        "x, ",
        "x, add 3",
        "x, add 3, double",
        "x, add 3, double, double, double",
        "x, add 3, double, add 1",
        "x, add 3, double, add 10",
        "x, add 3, double, add \u0663",
        "x, add 3, double, halve",
        "x, add 3,double, negate",
        "x, add  3, double, negate",
        "y, add 3, double, negate",
        "add 3, double, negate",
        "x, add 3, double, negate, ",
        "x, " + ", ".join(["double"] * 3000),
    ),
    "write": (
        "list 0 beast, first lion, last bear, no wolf",
        "list 10 beast, first lion, last bear, no wolf",
        "list \u0664 beast, first lion, last bear, no wolf",
        "list four beast, first lion, last bear, no wolf",
        "list 4 beasts, first lion, last bear, no wolf",
        "list 4 planet, first lion, last bear, no wolf",
        "list 4 beast, first oak, last bear, no wolf",
        "list 4 beast, first lion, last bear, no oak",
        "list 4 beast, first lion, last bear",
        "list 4 beast, last bear, first lion, no wolf",
        "list 4 beast,  first lion, last bear, no wolf",
        "list 4 beast, first Lion, last bear, no wolf",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("task", "text"), [(task, text) for task, texts in NEAR.items() for text in texts]
)
def test_a_near_miss_is_no_question(task: Task, text: str) -> None:
    assert CLASSES[task].read(text) is None
    assert read(prompt_of(text)) is None


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_and_what_is_read_comes_back(text: str) -> None:
    for asked in (text, prompt_of(text)):
        found = read(asked)
        assert found is None or prompt_of(found[1].text) == asked


@st.composite
def _spliced(draw: st.DrawFn) -> str:
    """Parts of questions of all tasks, put together with other separators and digits."""
    parts = [part for text in EXAMPLES.values() for part in re.split(r"(\W)", text)]
    return "".join(draw(st.lists(st.sampled_from((*parts, "0", "9", "\u0664", "A")), max_size=16)))


@given(_spliced(), _TEXTS, st.data())
def test_splices_and_edits_never_raise_and_what_is_read_comes_back(
    spliced: str, text: str, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(text)))
    cut = data.draw(st.integers(0, 2))
    put = data.draw(st.sampled_from(("", " ", ",", "0", "1", "-", "\n", "\u0664", "(", "x")))
    for asked in (spliced, text[:place] + put + text[place + cut :]):
        for task, one in CLASSES.items():
            question = one.read(asked)
            assert question is None or question.text == asked, task
            assert question is None or question.points("") == 0.0


_EDITS = st.lists(
    st.tuples(st.sampled_from(("move", "drop", "put")), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=4,
)


@given(_TEXTS, _EDITS)
def test_texts_that_are_equal_after_normalisation_have_one_key(
    text: str, edits: list[tuple[str, int, int]]
) -> None:
    """However separators are moved, dropped or put in: what still reads lies in the same split."""
    moved = _edited(text, edits)
    assert normalised(moved) == normalised(text)
    first, second = read(prompt_of(text)), read(prompt_of(moved))
    assert first is not None
    assert second is None or (second[0], second[1].key) == (first[0], first[1].key)


def _edited(text: str, edits: Sequence[tuple[str, int, int]]) -> str:
    parts = re.findall(r"\W+|\w", text)
    for edit, where, whence in edits:
        gaps = [place for place, part in enumerate(parts) if not part.isalnum()]
        at, gap = where % len(parts), gaps[whence % len(gaps)]
        separator = parts[gap] if edit == "put" else parts.pop(gap)
        if edit != "drop":
            parts.insert(at, separator)
    return "".join(parts)


def test_a_start_is_no_start_and_an_operation() -> None:
    """`16 +3` would be `1 +6 +3` without its separators, and another key."""
    assert Chain.read("1 +6 +3 mod 11") is not None
    assert Chain.read("16 +3 mod 11") is None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.words)
def test_what_an_operation_does_is_what_its_template_says(operation: Operation) -> None:
    effect, template = code._effect(operation), parse(operation.apply("x"))
    assert [effect(x) for x in range(-130, 131)] == [
        evaluate(template, x) for x in range(-130, 131)
    ]


def test_brackets_keep_the_order_of_any_two_operations() -> None:
    for first in OPERATIONS:
        for second in OPERATIONS:
            written = parse(second.apply(first.apply("x"), first))
            for x in (-17, 0, 40):
                assert evaluate(written, x) == code._effect(second)(code._effect(first)(x))


def test_a_call_follows_the_signature_and_not_the_telling() -> None:
    offered = (Signature("ring", ("day",)), Signature("dim", ("hour", "room", "level")))
    asked = Call(offered, "dim", (("level", "7"), ("hour", "42"), ("room", "attic")))
    assert asked.call == "dim(42,attic,7)"
    assert asked.points("dim( 42, attic,7 )") == 1.0
    assert asked.points("dim (42 ,attic , 7)") == 1.0
    for wrong in ("dim(7,42,attic)", "dim(42,attic)", "dim(42,attic,7,)", "ring(42,attic,7)"):
        assert asked.points(wrong) == 0.0
    for wrong in ("dim(4 2,attic,7)", "dim(42,a t t i c,7)", "d im(42,attic,7)", "dim(42 attic 7)"):
        assert asked.points(wrong) == 0.0


def test_a_chain_is_computed_from_left_to_right() -> None:
    asked = Chain.read("10 +3 *2 +7 *4 +9 mod 11")
    assert asked is not None
    assert asked.values == (10, 2, 4, 0, 0, 9)
