"""Own questions: splits that never share one, rows of what is left, sizes that fit the base."""

import json
from collections.abc import Sequence

import pytest

from rsi_master.app.plugins import base_folder
from rsi_master.core.artifact import ROW, Problem, Row, kind_of
from rsi_master.core.errors import Refused
from rsi_master.core.score import Split
from rsi_master.programs.own import reading
from rsi_master.programs.sealed.benchmark import Base, Benchmark, FromFile, Given, Item
from rsi_master.programs.sealed.benchmark import find as find_benchmark
from rsi_master.programs.sealed.own.benchmark import JSONL, Own
from rsi_master.programs.sealed.own.file import BadFile
from rsi_master.programs.sealed.own.survey import survey
from rsi_master.programs.sealed.scanner import Scanner
from rsi_master.programs.sealed.vault import read_base

COUNTS: dict[Split, int] = {"dev": 4, "confirm": 5, "holdout": 6}
Pairs = Sequence[tuple[str, str]]
SUMS = [(f"{a} + {b} =", str(a + b)) for a in range(11, 17) for b in range(21, 26)]


@pytest.fixture(scope="module")
def base() -> Base:
    return read_base(base_folder("nano"))


def lines(pairs: Pairs, **fields: str) -> bytes:
    rows = ({"prompt": prompt, "answer": answer, **fields} for prompt, answer in pairs)
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def of(base: Base, *parts: bytes) -> Own:
    return JSONL.of(b"".join(parts), base)


def test_it_is_a_benchmark_that_is_made_of_a_file(base: Base) -> None:
    found: Benchmark = of(base, lines(SUMS))
    assert isinstance(JSONL, FromFile)
    assert isinstance(found, Given)
    assert find_benchmark("jsonl", base, lines(SUMS)) == found


def test_a_file_is_missed_and_one_without_use_is_told(base: Base) -> None:
    with pytest.raises(Refused, match="rsi init NAME --benchmark FILE") as missed:
        find_benchmark("jsonl", base)
    assert missed.value.code == "NO_BENCHMARK_FILE"
    with pytest.raises(Refused, match=r"remove evaluator\.items") as unused:
        find_benchmark("nano", base, lines(SUMS))
    assert unused.value.code == "BENCHMARK_FILE_UNUSED"


def test_a_secret_splits_the_questions_and_the_rest_is_trained_on(base: Base) -> None:
    own = of(base, lines(SUMS))
    drawn = own.draw(b"s", COUNTS)
    assert own.draw(b"s", COUNTS) == drawn
    assert own.draw(b"t", COUNTS) != drawn
    assert {split: len(found) for split, found in drawn.items()} == COUNTS
    sealed = [question.prompt for found in drawn.values() for question in found]
    assert len(set(sealed)) == 15
    pools = own.pools(b"", drawn)
    assert [row.prompt for row in pools["own/train"]] == [
        prompt for prompt, _ in SUMS if prompt not in sealed
    ]
    answers = dict(SUMS)
    for row in pools["own/train"]:
        assert isinstance(row, Row)
        assert row.completion == f" {answers[row.prompt]}"
    for row in pools["own/prompts"]:
        assert row == Problem(prompt=row.prompt, answer=answers[row.prompt])
    assert kind_of("own", pools["own/prompts"]) == "prompts"


def test_prompts_that_are_one_question_never_part(base: Base) -> None:
    sums = [*SUMS, ("3 - 1 =", "2"), ("3 + 1 =", "4")]
    twins = [(f"  {prompt.replace(' ', '')} ?", answer) for prompt, answer in sums]
    own = of(base, lines(sums), lines(twins))
    assert len(own.entries) == 64
    assert len(own.questions()["own"]) == 32
    for secret in (b"a", b"b", b"c"):
        drawn = own.draw(secret, COUNTS)
        keys = {question.stem for found in drawn.values() for question in found}
        assert len(keys) == 15
        left = {row.prompt for row in own.pools(b"", drawn)["own/train"]}
        assert len(left) == 34
        assert not keys & {entry.key() for entry in own.entries if entry.prompt in left}


def test_each_sum_of_the_same_numbers_is_evaluated_on_its_own(base: Base) -> None:
    numbers = [(a, b) for a in range(3, 8) for b in range(11, 15)]
    pairs = [(f"{a} {sign} {b}", "0") for sign in "+-*/" for a, b in numbers]
    pairs += [(f"-{a} + {b}", "0") for a, b in numbers]
    assert survey(lines(pairs), base).questions == {"own": 100}


def test_no_row_of_the_pools_repeats_a_sealed_question(base: Base) -> None:
    own = of(base, lines([(f"How many letters has {w}?", str(len(w))) for w in WORDS]))
    drawn = own.draw(b"s", COUNTS)
    items = [
        Item(id=question.prompt, **question.model_dump())
        for found in drawn.values()
        for question in found
    ]
    for rows in own.pools(b"", drawn).values():
        report = Scanner(items, ("<end>",)).scan(tuple(rows))
        assert (len(report.kept), report.dropped) == (len(rows), {})


def test_every_task_gives_the_same_number_to_each_split(base: Base) -> None:
    own = of(
        base,
        lines(SUMS, task="sums"),
        lines([(f"Spell {word}", word) for word in WORDS], task="spelling"),
    )
    assert own.tasks == ("spelling", "sums")
    for split, found in own.draw(b"s", COUNTS).items():
        tasks = [question.task for question in found]
        assert {task: tasks.count(task) for task in own.tasks} == dict.fromkeys(
            own.tasks, COUNTS[split]
        )


def test_something_must_be_left_to_train_on(base: Base) -> None:
    with pytest.raises(Refused) as few:
        of(base, lines(SUMS[:15])).draw(b"s", COUNTS)
    assert few.value.code == "TOO_FEW_QUESTIONS"
    assert "has 15 different questions, the contract asks for 15" in few.value.message
    of(base, lines(SUMS[:16])).draw(b"s", COUNTS)


def test_an_output_has_room_for_the_longest_answer(base: Base) -> None:
    assert of(base, lines(SUMS)).decoding.max_new_tokens == 64
    long = of(base, lines([*SUMS, ("spell", "q" * 90)])).decoding.max_new_tokens
    assert 90 < long <= 256 - len("spell")


def test_what_the_base_cannot_read_at_once_is_refused(base: Base) -> None:
    with pytest.raises(BadFile, match=r"row 31: prompt and answer have \d+ and 2 tokens, the base"):
        of(base, lines([*SUMS, ("q" * 300, "1")]))


@pytest.mark.parametrize("pair", [("a <eos> b", "4"), ("a", "4 <eos>")])
def test_control_tokens_of_the_base_are_refused(base: Base, pair: tuple[str, str]) -> None:
    with pytest.raises(BadFile, match=r'row 31: field "(prompt|answer)" holds "<eos>", a control'):
        of(base, lines([*SUMS, pair]))


def test_an_answer_that_the_base_cannot_write_is_refused(base: Base) -> None:
    of(base, lines([*SUMS, ("caf\u00e9?", "yes")]))
    with pytest.raises(BadFile, match=r'row 31: field "answer" holds "\u00e9", which the base'):
        of(base, lines([*SUMS, ("what?", "caf\u00e9")]))


def test_outputs_are_graded_as_training_answers_are_rewarded(base: Base) -> None:
    own = of(base, lines([*SUMS[:20], ("2 * 3 =", "2 * 3 = 6\n#### 6")]))
    item = Item(id="i", task="own", prompt="p", stem="p", reference="2 * 3 = 6\n#### 6")
    for output, verdict in (("6.0", "right"), ("so answer: 6", "right"), ("7", "wrong")):
        grade = own.grade(item, output)
        assert grade.verdict == verdict
        assert grade.points == reading.points("p", output, item.reference)
    assert own.grade(item, " \n").verdict == "no_answer"
    assert own.verifier == "rsi_master.programs.own.reading:points"


def test_problems_are_told_from_prompts_and_rows() -> None:
    problem = Problem(prompt="a", answer="b")
    assert ROW.validate_json(problem.model_dump_json()) == problem
    assert type(ROW.validate_json('{"prompt": "a"}')) is not Problem
    assert problem.answers() == ("b",)


def test_a_survey_counts_and_refuses_too_few(base: Base) -> None:
    found = survey(lines(SUMS, task="sums"), base)
    assert (found.rows, found.questions) == (30, {"sums": 30})
    with pytest.raises(BadFile, match=r"it has 19 different questions, 20 are needed; add some$"):
        survey(lines(SUMS[:19]), base)
    both = lines(SUMS[:25], task="more") + lines(SUMS[25:], task="less")
    with pytest.raises(BadFile, match=r'task "less" has 5 different questions, .*leave the task'):
        survey(both, base)


FRUIT = """
    apple banana cherry grape lemon melon orange papaya peach pear plum quince raisin tomato
    walnut almond barley carrot celery fennel garlic ginger leek lentil
"""
WORDS = FRUIT.split()
