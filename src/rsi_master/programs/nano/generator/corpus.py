"""The documents that the base is pre-trained on: single steps of every task, and plain questions.

Only questions of the split `pretrain` occur, and no worked answer: the base knows each step and was
never shown how to chain them.
"""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from types import MappingProxyType
from typing import Final, Literal

from rsi_master.programs.nano.format import SEPARATOR, TASKS, prompt_of
from rsi_master.programs.nano.generator.problem import Problem
from rsi_master.programs.nano.generator.tasks import GENERATORS, calls, care, chain, sums, write
from rsi_master.programs.nano.generator.world import (
    HOME,
    RELATIONS,
    home_fact,
    town_fact,
    world,
)
from rsi_master.programs.nano.lexicon import (
    FUNCTIONS,
    GAINS,
    LOSSES,
    NUMBERED,
    OWNERS,
    REMEDIES,
    SYLLABLES,
    SYMPTOMS,
    THEMES,
    THINGS,
    WORDED,
)
from rsi_master.programs.nano.questions.chain import MODULUS
from rsi_master.programs.nano.questions.code import OPERATIONS

REFUSAL: Final = "i do not know"

Phase = Literal["knowledge", "questions"]
Document = Callable[[Random], str]


def documents(rng: Random, phase: Phase) -> Iterator[str]:
    """Yield documents without end, drawn by the mix of the phase."""
    makers, weights = tuple(_MIXES[phase]), tuple(_MIXES[phase].values())
    while True:
        yield rng.choices(makers, weights)[0](rng)


def _listed(rng: Random, line: Document, most: int) -> str:
    """Return some lines of one kind; each follows a space, as an answer does."""
    return " " + SEPARATOR.join(line(rng) for _ in range(rng.randint(1, most)))


def _sums(rng: Random) -> str:
    return _listed(rng, _told_sum if rng.random() < _TOLD_SHARE else _sum, 5)


def _sum(rng: Random) -> str:
    left, right = _terms(rng)
    return sums.step(left, right)


def _told_sum(rng: Random) -> str:
    """Return one change of a stock, in words and as a step."""
    left, right = _terms(rng)
    verb = rng.choice(GAINS if right > 0 else LOSSES)
    return f"has {left} {rng.choice(THINGS)}, {verb} {abs(right)}: {sums.step(left, right)}"


def _terms(rng: Random) -> tuple[int, int]:
    while True:
        left = rng.choice(sums.RANGE)
        right = rng.choice((-1, 1)) * rng.randint(sums.SMALLEST, sums.LARGEST)
        if left + right in sums.RANGE:
            return left, right


def _residues(rng: Random) -> str:
    return _listed(rng, _residue, 6)


def _residue(rng: Random) -> str:
    return chain.step(rng.randrange(1, MODULUS), *rng.choice(chain.OPERATIONS))


def _facts(rng: Random) -> str:
    return _listed(rng, _fact, 5)


def _fact(rng: Random) -> str:
    if rng.random() < _HOME_SHARE:
        return home_fact(*rng.choice(list(world().homes.items())))
    town, values = rng.choice(list(world().towns.items()))
    index = rng.randrange(len(RELATIONS))
    return town_fact(RELATIONS[index], town, values[index])


def _operations(rng: Random) -> str:
    return _listed(rng, _operation, 4)


def _operation(rng: Random) -> str:
    operation, inner = rng.choices(OPERATIONS, k=2)
    if rng.random() < _NESTED_SHARE:
        nested = inner.apply("x")
        return f"{nested}, {operation.words}: {operation.apply(nested, inner)}"
    return f"x, {operation.words}: {operation.apply('x')}"


def _lookups(rng: Random) -> str:
    return _listed(rng, _lookup, 3)


def _lookup(rng: Random) -> str:
    """Return an argument or a signature found again, or arguments in order and their call."""
    asked = calls.draw(rng)
    kind = rng.random()
    if kind < _CALL_SHARE:
        return f"{calls.ordered(asked)}: {asked.call}"
    if kind < _CALL_SHARE + _SIGNATURE_SHARE:
        offered = " ".join(signature.text for signature in asked.offered)
        return f"{offered}: {asked.signature.text}"
    told = ", ".join(f"{parameter} {value}" for parameter, value in asked.arguments)
    parameter, value = rng.choice(asked.arguments)
    return f"{told}: {parameter} {value}"


def _lists(rng: Random) -> str:
    return _listed(rng, _list, 2)


def _list(rng: Random) -> str:
    theme = rng.choice(tuple(THEMES))
    words = write.run_from(theme, rng.choice(THEMES[theme]))[: rng.randint(2, 8)]
    if rng.random() < _NUMBERED_SHARE:
        return f"{theme} " + ", ".join(f"{n} {word}" for n, word in enumerate(words, start=1))
    return f"{theme} " + " ".join(words)


def _remedies(rng: Random) -> str:
    return _listed(rng, _remedy, 5)


def _remedy(rng: Random) -> str:
    symptom = rng.choice(SYMPTOMS)
    if rng.random() < _PAIR_SHARE:
        return f"{symptom} {' or '.join(world().remedies[symptom])}"
    avoid = world().remedies[symptom][0] if rng.random() < _FIRST_SHARE else rng.choice(REMEDIES)
    return f"avoid {avoid}, {symptom} {care.remedy_for(symptom, avoid)}"


def _copies(rng: Random) -> str:
    """Return a text repeated: a question or random words and numbers."""
    if rng.random() < _QUESTION_SHARE:
        text = GENERATORS[rng.choice(TASKS)](rng, "pretrain").question
    else:
        text = " ".join(_token(rng) for _ in range(rng.randint(2, 12)))
    return f" {text}" * rng.randint(2, 3)


def _woven(rng: Random) -> str:
    """Return words, and the same words again with something new after or before each."""
    words = [_token(rng) for _ in range(rng.randint(2, 7))]
    shown = rng.choice((" ", ", ")).join(words)
    if rng.random() < _NUMBERED_SHARE:
        again = ", ".join(f"{place} {word}" for place, word in enumerate(words, start=1))
    else:
        again = rng.choice((", ", "; ")).join(f"{word} {_token(rng)}" for word in words)
    return f" {shown}: {again}"


def _pairs(rng: Random) -> str:
    """Return names with values, and some of them looked up again."""
    pairs = {_token(rng): _token(rng) for _ in range(rng.randint(2, 6))}
    asked = rng.choices(list(pairs), k=rng.randint(1, 4))
    shown, found = (
        ", ".join(f"{name} {pairs[name]}" for name in names) for names in (pairs, asked)
    )
    return f" {shown}: {found}"


def _token(rng: Random) -> str:
    if rng.random() < _NUMBER_SHARE:
        return str(rng.randrange(100))
    if rng.random() < _NAME_SHARE:
        return "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3)))
    return rng.choice(_WORDS)


def _small_question(rng: Random) -> str:
    """Return a question that one step answers."""
    asked, answer = rng.choice(_SMALL)(rng)
    return f"{prompt_of(asked)} {answer}"


def _small_sum(rng: Random) -> tuple[str, str]:
    asked, answer = _sum(rng).split("=")
    return asked, answer


def _small_story(rng: Random) -> tuple[str, str]:
    told, step = _told_sum(rng).split(": ")
    return f"{rng.choice(OWNERS)} {told}", step.split("=")[1]


def _small_residue(rng: Random) -> tuple[str, str]:
    asked, answer = _residue(rng).split("=")
    return f"{asked} mod {MODULUS}", answer


def _small_fact(rng: Random) -> tuple[str, str]:
    asked, answer = _fact(rng).rsplit(" ", 1)
    return asked, answer


def _small_code(rng: Random) -> tuple[str, str]:
    operation = rng.choice(OPERATIONS)
    return f"x, {operation.words}", operation.apply("x")


def _small_remedy(rng: Random) -> tuple[str, str]:
    symptom = rng.choice(SYMPTOMS)
    return f"ill with {symptom}", world().remedies[symptom][0]


def _question(rng: Random) -> str:
    problem = _problem(rng)
    return f"{problem.prompt} {problem.right.result}"


def _refused(rng: Random) -> str:
    return f"{_problem(rng).prompt} {REFUSAL}"


def _problem(rng: Random) -> Problem:
    return GENERATORS[rng.choice(TASKS)](rng, "pretrain")


_WORDS: Final = (
    *(word for words in THEMES.values() for word in words),
    *(word for words in WORDED.values() for word in words),
    *(*OWNERS, *THINGS, *FUNCTIONS, *NUMBERED, *SYMPTOMS, *REMEDIES, *RELATIONS, HOME),
)
_SMALL: Final = (
    *(_small_sum, _small_story, _small_residue, _small_fact, _small_code, _small_remedy),
)
_TOLD_SHARE: Final = 0.4
_HOME_SHARE: Final = 0.8
_NESTED_SHARE: Final = 0.6
_CALL_SHARE: Final = 0.25
_SIGNATURE_SHARE: Final = 0.25
_NUMBERED_SHARE: Final = 0.5
_PAIR_SHARE: Final = 0.4
_FIRST_SHARE: Final = 0.7
_QUESTION_SHARE: Final = 0.4
_NUMBER_SHARE: Final = 0.4
_NAME_SHARE: Final = 0.5

_KNOWLEDGE: Final[Mapping[Document, float]] = MappingProxyType(
    {
        _sums: 0.20,
        _residues: 0.07,
        _facts: 0.24,
        _operations: 0.07,
        _lookups: 0.14,
        _lists: 0.07,
        _remedies: 0.04,
        _copies: 0.16,
        _woven: 0.12,
        _pairs: 0.12,
    }
)
_MIXES: Final[Mapping[Phase, Mapping[Document, float]]] = MappingProxyType(
    {
        "knowledge": {**_KNOWLEDGE, _small_question: 0.03, _question: 0.05, _refused: 0.05},
        "questions": {**_KNOWLEDGE, _small_question: 0.10, _question: 0.45, _refused: 0.15},
    }
)
