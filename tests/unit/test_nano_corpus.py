"""What the base reads: single steps and bare answers, never a worked one, each within a row."""

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from random import Random
from typing import get_args

import pytest

from rsi_master.programs.nano import tokenizer as pieces
from rsi_master.programs.nano.format import MARKER, SEPARATOR, Task, prompt_of
from rsi_master.programs.nano.generator.corpus import REFUSAL, Phase, documents
from rsi_master.programs.nano.generator.tasks import GENERATORS
from rsi_master.programs.nano.generator.world import HOME, RELATIONS
from rsi_master.programs.nano.partition import SPLITS
from rsi_master.programs.nano.pretrain import LENGTH

PHASES: tuple[Phase, ...] = get_args(Phase)
COUNT = 2500

# Each takes what a step starts from and what it comes to.
_SUM = re.compile(r"(?:has [^:]*: )?([0-9]+)[+-][0-9]{2}=([0-9]+)")
_RESIDUE = re.compile(r"([0-9]+)[+*][0-9]=([0-9]+)")
_FACT = re.compile(rf"([a-z]+) (?:{'|'.join((HOME, *RELATIONS))}) ([a-z]+)")
_CODE = re.compile(r"(\S+), [a-z]+(?: [0-9])?: (\S+)")


@pytest.fixture(scope="module")
def read() -> dict[Phase, list[str]]:
    return {phase: list(islice(documents(Random(5), phase), COUNT)) for phase in PHASES}


@pytest.fixture(scope="module")
def texts(read: dict[Phase, list[str]]) -> list[str]:
    return [text for phase in PHASES for text in read[phase]]


def test_the_marker_of_an_answer_is_never_read(texts: list[str]) -> None:
    assert not any(MARKER in text for text in texts)


@pytest.mark.parametrize("phase", PHASES)
def test_the_corpus_follows_its_seed_and_its_phase(phase: Phase) -> None:
    first, again, other = (list(islice(documents(Random(s), phase), 50)) for s in (1, 1, 2))
    assert first == again != other
    assert all(first != list(islice(documents(Random(1), p), 50)) for p in PHASES if p != phase)


def test_the_second_phase_asks_more(read: dict[Phase, list[str]]) -> None:
    shares = {phase: sum(_is_question(t) for t in read[phase]) / COUNT for phase in PHASES}
    assert 0 < shares["knowledge"] < 0.2 < 0.3 < shares["questions"]
    refused = [text for text in read["questions"] if text.endswith(f" {REFUSAL}")]
    assert 0 < len(refused) < 0.2 * COUNT


def test_a_question_is_followed_by_a_bare_result_or_a_refusal(texts: list[str]) -> None:
    asked = [text for text in texts if _is_question(text)]
    for text in asked:
        assert text.startswith("Q: ")
        question, _, answer = text.removeprefix("Q: ").partition("?\nA: ")
        assert prompt_of(question) + f" {answer}" == text
        assert not any(sign in answer for sign in (SEPARATOR, "=", ":", "\n"))
        assert answer == answer.strip() != ""


def test_every_document_fits_a_row_with_its_end(texts: list[str]) -> None:
    encoded = pieces.build().encode_batch(texts)
    lengths = [len(one.ids) + 1 for one in encoded]
    assert max(lengths) <= LENGTH
    assert min(lengths) > 1
    assert not any(pieces.UNKNOWN in one.tokens for one in encoded)


@pytest.mark.parametrize("task", ["calls", "code"])
def test_no_two_steps_of_a_worked_answer_stand_side_by_side(texts: list[str], task: Task) -> None:
    """Literally; in the other tasks two steps may meet by chance, see below."""
    read_in, rng = "\n".join(texts), Random(7)
    steps = [GENERATORS[task](rng, split).right.steps for split in SPLITS for _ in range(30)]
    spelled = [SEPARATOR.join(two) for one in steps for two in pairwise(one)]
    assert [two for two in spelled if two in read_in] == []


def test_a_step_goes_on_from_the_step_before_it_by_chance_alone(texts: list[str]) -> None:
    """In a worked answer each step starts with the result of the one before. Here steps are drawn
    one by one: as many start so as would if the documents were cut and shuffled.
    """
    _by_chance(_told(texts, _SUM), "sums")
    _by_chance(_told(texts, _RESIDUE), "residues")
    _by_chance(_told(texts, _FACT), "facts")
    _by_chance(_told(texts, _CODE), "code")


def test_every_step_that_is_read_is_right(texts: list[str]) -> None:
    """The base knows its steps: a sum is a sum and a residue one modulo 11."""
    checked = 0
    for text in texts:
        for found in re.finditer(r"(?<![\w+*-])(\d+)([+*-])(\d+)=(\d+)", text):
            left, sign, right, result = found[1], found[2], found[3], int(found[4])
            plain = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[sign](
                int(left), int(right)
            )
            assert result in ({plain} if len(right) == 2 else {plain % 11}), found[0]
            checked += 1
    assert checked > 1000


Steps = list[tuple[str, str]]
"""What each step of a document starts from and what it comes to."""


def _is_question(text: str) -> bool:
    return "?\nA:" in text


def _told(texts: Sequence[str], pattern: re.Pattern[str]) -> list[Steps]:
    """Return the steps of each document all of whose lines are steps of this kind."""
    told = []
    for text in texts:
        lines = [pattern.fullmatch(line) for line in text.strip().split(SEPARATOR)]
        if all(lines):
            told.append([(line[1], line[2]) for line in lines if line])
    return told


def _by_chance(told: Sequence[Steps], kind: str) -> None:
    """Compare how many steps go on with what independent steps of these frequencies would."""
    followed = [(one[1], two[0]) for steps in told for one, two in pairwise(steps)]
    assert len(followed) > 150, kind
    starts = [start for _, start in followed]
    expected = sum(starts.count(result) for result, _ in followed) / len(followed)
    found = sum(result == start for result, start in followed)
    assert abs(found - expected) < 5 * max(expected, 1.0) ** 0.5, (kind, found, expected)
