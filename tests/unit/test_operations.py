"""What was done to data reads as words, whatever the record holds."""

import pytest

from rsi_master.core.dataset import Source
from rsi_master.interfaces import operations
from rsi_master.testing import tape

ONE, TWO = tape.digest("one"), tape.digest("two")
PROGRAM = tape.digest("program")


def made(*parents: str, **operation: object) -> Source:
    """A source that was made."""
    return Source(origin="pool", parents=parents, operation=operation)


SAMPLE = {"keep": "right", "prompts": 20, "samples": 4, "per_prompt": 2, "seed": 7}
FOUND = {"asked": 20, "drawn": 80, "right": 31, "kept": 30}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (Source(origin="pool"), "taken as the source has it"),
        (
            made(ONE, filter={"verified": True}, removed={"verified": 1200}),
            "filtered: only rows that the benchmark's open verifier does not contradict; dropped "
            "1,200 as wrong",
        ),
        (
            made(ONE, filter={"verified": True, "unknown": "drop", "verifier": PROGRAM}),
            "filtered: only rows that a program confirms",
        ),
        (
            made(
                ONE,
                filter={"longest": 40, "distinct": True, "distinct_prompts": True, "limit": 9},
                removed={"length": 2, "distinct": 3, "limit": 4},
            ),
            "filtered: only answers of 0 to 40 characters, equal rows once, the first row of each "
            "prompt, the first 9 rows; dropped 2 for their length, 3 as repeated, 4 beyond the "
            "limit",
        ),
        (
            made(ONE, filter={"shortest": 3}),
            "filtered: only answers of 3 to any number of characters",
        ),
        (made(ONE, TWO, limit=None, shuffle=0), "mixed, equal rows once, shuffled with seed 0"),
        (
            made(ONE, TWO, limit=500, shuffle=3, repeats=[2, 1]),
            "mixed, every row 2 and 1 times, in the order of the datasets, shuffled with seed 3, "
            "the first 500 rows kept",
        ),
        (
            made(ONE, transform=PROGRAM),
            "each row made into none, one or several by a program",
        ),
        (
            made(ONE, sample=SAMPLE, found=FOUND),
            "4 answers drawn to each of up to 20 prompts, temperature 1, up to 128 tokens, seed 7; "
            "those that the benchmark's open verifier found right were kept, at most 2 of a "
            "prompt: 80 drawn, 31 right, 30 kept",
        ),
    ],
)
def test_each_operation_is_told_in_words(source: Source, told: str) -> None:
    assert operations.told(source) == told


def test_pairs_of_own_answers_are_told() -> None:
    told = operations.told(made(ONE, sample={"keep": "pairs"}, found=FOUND))
    assert "of each prompt the best against the worst made a pair" in told


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (made(ONE, rewrite={"by": "magic"}), '{"rewrite": {"by": "magic"}}'),
        (made(ONE, filter=["odd"]), '{"filter": ["odd"]}'),
        (made(filter={"verified": True}), '{"filter": {"verified": true}}'),
        (made(ONE, shuffle="odd"), '{"shuffle": "odd"}'),
        (made(ONE), "made of others"),
    ],
)
def test_what_is_not_understood_is_told_as_it_is_recorded(source: Source, told: str) -> None:
    assert operations.told(source) == told


@pytest.mark.parametrize(
    ("source", "program"),
    [
        (made(ONE, transform=PROGRAM), PROGRAM),
        (made(ONE, filter={"verified": True, "verifier": PROGRAM}), PROGRAM),
        (made(ONE, filter={"verified": True}), None),
        (made(ONE, transform=["odd"]), None),
        (Source(origin="pool"), None),
    ],
)
def test_the_program_behind_data_is_found(source: Source, program: str | None) -> None:
    assert operations.program(source) == program
