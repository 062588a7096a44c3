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


def test_right_is_what_reasoning_gym_scores_with_one(drawn: Drawn) -> None:
    import reasoning_gym

    rng = random.Random(0)
    for question in [found for questions in drawn.values() for found in questions]:
        score = reasoning_gym.get_score_answer_fn(question.task)
        entry = {"question": question.stem, "answer": question.reference, "metadata": {}}
        wrong = str(int(question.reference) + rng.choice((-10, -1, 1, 10)))
        for given in (question.reference, wrong):
            grade = GYM.grade(item(question), f" So it is {given}.")
            assert (grade.verdict == "right") == (score(given, entry) == 1.0)
            assert grade.points == float(grade.verdict == "right")


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
        with pytest.raises(Refused, match=r"pip install 'rsi-master\[smollm2\]'"):
            draw()
    one = Item(id="i", task="chain_sum", prompt="p", stem="p", reference="5")
    assert GYM.grade(one, " 5").verdict == "right"
    assert GYM.grade(one, " five").verdict == "no_answer"
    assert GYM.grade(one, " 6").verdict == "wrong"
