"""What is sealed stays apart: a normalised prompt has one key, a key has one split."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

import pytest

from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.generator.corpus import documents
from rsi_master.programs.nano.generator.problem import Item, Problem
from rsi_master.programs.nano.generator.suite import draw
from rsi_master.programs.nano.generator.tasks import GENERATORS, chain
from rsi_master.programs.nano.generator.world import HOME, RELATIONS
from rsi_master.programs.nano.lexicon import (
    FUNCTIONS,
    GAINS,
    LOSSES,
    NUMBERED,
    OWNERS,
    SYMPTOMS,
    THEMES,
    THINGS,
    WORDED,
)
from rsi_master.programs.nano.partition import SPLITS, Split, normalised, split_of
from rsi_master.programs.nano.questions.code import OPERATIONS

SEED = b"a seed"
SEALED: dict[Split, int] = {"dev": 60, "confirm": 80, "holdout": 120, "twin": 120}
DOCUMENTS = 3000

_CALL_WORDS = (*FUNCTIONS, *NUMBERED, *WORDED, *(v for words in WORDED.values() for v in words))
_VERBS = tuple(dict.fromkeys(operation.words.split(" ")[0] for operation in OPERATIONS))


def _tokens(words: Sequence[str], text: str) -> list[str]:
    found = re.findall(rf"{'|'.join(words)}|[0-9]+", text)
    assert "".join(found) == text
    return found


def _sums_key(text: str) -> str:
    *story, last = _tokens((*OWNERS, *THINGS, *GAINS, *LOSSES, "has"), text)
    pairs = zip(story[4::2], [*story[5::2], last], strict=True)
    return story[2] + "".join(f"{'+' if verb in GAINS else '-'}{n}" for verb, n in pairs)


def _chain_key(text: str) -> str:
    found = re.fullmatch("(10|[1-9])([1-9]*)mod11", text)
    assert found
    return " ".join((found[1], *found[2]))


def _facts_key(text: str) -> str:
    found = re.fullmatch(f"([a-z]{{6}}){HOME}({'|'.join(RELATIONS)})", text)
    assert found
    return found[1]


def _calls_key(text: str) -> str:
    *_, name, p1, v1, p2, v2, p3, v3 = _tokens(_CALL_WORDS, text)
    return " ".join((name, *sorted((f"{p1}={v1}", f"{p2}={v2}", f"{p3}={v3}"))))


def _code_key(text: str) -> str:
    return " ".join(re.findall("|".join(_VERBS), text.removeprefix("x")))


def _write_key(text: str) -> str:
    word = "|".join(word for words in THEMES.values() for word in words)
    found = re.fullmatch(
        rf"list[3-6](?:{'|'.join(THEMES)})first({word})last({word})no({word})", text
    )
    assert found
    return " ".join(found.groups())


def _care_key(text: str) -> str:
    complaints, _, _ = text.removeprefix("illwith").partition("avoid")
    return " ".join(sorted(_tokens(SYMPTOMS, complaints)))


KEY_OF: dict[Task, Callable[[str], str]] = {
    "sums": _sums_key,
    "chain": _chain_key,
    "facts": _facts_key,
    "calls": _calls_key,
    "code": _code_key,
    "write": _write_key,
    "care": _care_key,
}
"""The key from a question without case, space and punctuation: that it exists is the proof."""

QUESTION: dict[Task, str] = {
    "sums": r"\w+ has \d+ \w+(?:, \w+ \d+){3}",
    "chain": rf"\d+(?: [+*]\d){{{chain.LENGTH}}} mod 11",
    "facts": rf"[a-z]{{6}} {HOME} (?:{'|'.join(RELATIONS)})",
    "calls": r"\w+\([\w,]+\) \w+\([\w,]+\): \w+(?:,? \w+ \w+){3}",
    "code": r"x(?:, [a-z]+(?: \d)?){3}",
    "write": r"list \d \w+, first \w+, last \w+, no \w+",
    "care": r"ill with \w+, \w+, \w+, avoid \w+",
}
"""How a whole question looks inside a text."""


@pytest.fixture(scope="module")
def sealed() -> tuple[Item, ...]:
    return tuple(item for drawn in draw(SEED, SEALED).values() for item in drawn)


@pytest.fixture(scope="module")
def forbidden(sealed: tuple[Item, ...]) -> frozenset[str]:
    return frozenset(normalised(item.prompt) for item in sealed)


@pytest.fixture(scope="module")
def corpus() -> str:
    """Documents of both phases, one a paragraph."""
    parts = [
        *islice(documents(Random(5), "knowledge"), DOCUMENTS),
        *islice(documents(Random(6), "questions"), DOCUMENTS),
    ]
    return "\n\n".join(parts)


@pytest.mark.parametrize(
    "words",
    [
        (*OWNERS, *THINGS, *GAINS, *LOSSES, "has"),
        _CALL_WORDS,
        _VERBS,
        (*SYMPTOMS, "avoid"),
    ],
    ids=["sums", "calls", "code", "care"],
)
def test_words_that_follow_each_other_can_be_told_apart_without_spaces(
    words: Sequence[str],
) -> None:
    assert len(set(words)) == len(words)
    assert [(a, b) for a in words for b in words if a != b and b.startswith(a)] == []


@pytest.mark.parametrize("task", TASKS)
def test_the_key_is_a_function_of_the_normalised_prompt(task: Task) -> None:
    """So two prompts that are equal after normalisation lie in one split."""
    for problem in _problems(task, 100):
        question = normalised(problem.question)
        assert normalised(problem.prompt) == f"q{question}a"
        assert KEY_OF[task](question) == problem.key


def test_the_corpus_holds_whole_questions_of_its_own_split_alone(corpus: str) -> None:
    """In prompts, in copies, across lines: wherever one is spelled."""
    for task, pattern in QUESTION.items():
        found = re.findall(rf"\b{pattern}\b", corpus)
        assert len(found) > 150, task
        keys = {KEY_OF[task](normalised(question)) for question in found}
        assert {split_of(task, key) for key in keys} == {"pretrain"}


def test_no_sealed_question_occurs_in_the_corpus_even_without_spaces(
    corpus: str, sealed: tuple[Item, ...]
) -> None:
    read_in = normalised(corpus)
    own = [problem for task in TASKS for problem in islice(_drawn(task, "pretrain"), 60)]
    assert any(normalised(problem.question) in read_in for problem in own)
    names = {name[1:-1] for name in (normalised(item.prompt) for item in sealed)}
    assert [name for name in names if name in read_in] == []


def test_practice_is_apart_from_what_is_sealed(forbidden: frozenset[str]) -> None:
    practice = draw(SEED, {"practice": 60})["practice"]
    assert {split_of(item.task, item.key) for item in practice} == {"practice"}
    assert forbidden.isdisjoint(normalised(item.prompt) for item in practice)


def _problems(task: Task, count: int) -> Iterator[Problem]:
    for split in SPLITS:
        yield from islice(_drawn(task, split), count)


def _drawn(task: Task, split: Split) -> Iterator[Problem]:
    rng = Random(23)
    while True:
        yield GENERATORS[task](rng, split)
