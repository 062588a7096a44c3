"""What is kept of sampled answers: right ones each once, pairs where answers differ in worth."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from rsi_master.core.artifact import Pair, Problem, Prompt, Row
from rsi_master.core.pace import DECODING_SECONDS, SAMPLING_BATCH, START_SECONDS
from rsi_master.domains.data.samples import SampleResult, SampleSpec
from rsi_master.programs.jobs.keeping import Kept, prompts, write
from rsi_master.programs.jobs.result import Untrainable

WORTH = {"a": 1.0, "b": 1.0, "half": 0.5, "none": 0.0, "zero": 0.0}


def kept(spec: SampleSpec, *answers: list[str]) -> Kept:
    found = Kept(spec)
    asked = [f"q{at}" for at in range(len(answers))]
    found.take(asked, answers, lambda _, answer: WORTH[answer])
    return found


def test_right_answers_are_kept_each_once() -> None:
    found = kept(SampleSpec(), ["a", "none", "a", "b"], ["half", "none"], ["b", "", "  "])
    assert found.rows == [
        Row(prompt="q0", completion="a"),
        Row(prompt="q0", completion="b"),
        Row(prompt="q2", completion="b"),
    ]
    assert found.result() == SampleResult(asked=3, drawn=9, right=4, kept=3, dropped={"empty": 2})


def test_at_most_so_many_of_a_prompt_are_kept_the_first_ones() -> None:
    found = kept(SampleSpec(per_prompt=1), ["none", "b", "a"], ["a", "a"])
    assert [row.answers() for row in found.rows] == [("b",), ("a",)]
    assert (found.right, found.result().kept) == (4, 2)


def test_a_pair_is_the_first_of_the_best_against_the_first_of_the_worst() -> None:
    found = kept(
        SampleSpec(keep="pairs"),
        ["half", "b", "zero", "a", "none"],
        ["a", "b"],
        ["none", "half", "half"],
        ["zero", "none"],
        ["", "a"],
    )
    assert found.rows == [
        Pair(prompt="q0", chosen="b", rejected="zero"),
        Pair(prompt="q2", chosen="half", rejected="none"),
    ]
    assert (found.asked, found.right, found.result().kept) == (5, 5, 2)


@pytest.mark.parametrize(
    ("keep", "answers", "code", "word"),
    [
        ("right", ["half", "none"], "NO_RIGHT_ANSWER", "none of 2 answers to each of 1 prompts"),
        ("pairs", ["a", "b"], "NO_CONTRAST", "all worth the same (2 were right)"),
        ("pairs", ["", " "], "NO_CONTRAST", "(0 were right)"),
    ],
)
def test_nothing_to_keep_says_why(keep: str, answers: list[str], code: str, word: str) -> None:
    with pytest.raises(Untrainable) as nothing:
        kept(SampleSpec.model_validate({"keep": keep, "samples": 2}), answers)
    assert nothing.value.failure.code == code
    assert word in nothing.value.failure.detail


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"keep": "pairs", "samples": 1}, "samples 2 or more"),
        ({"keep": "pairs", "per_prompt": 2}, "leave per_prompt out"),
        ({"keep": "all"}, "keep"),
        ({"samples": 65}, "samples"),
        ({"prompts": 0}, "prompts"),
        ({"temperature": 0.0}, "temperature"),
        ({"answer_tokens": 0}, "answer_tokens"),
        ({"seed": -1}, "seed"),
    ],
)
def test_a_specification_without_sense_is_refused(fields: dict[str, object], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        SampleSpec.model_validate(fields)


def test_the_estimate_grows_with_what_is_drawn_and_ends_with_the_dataset() -> None:
    spec = SampleSpec(prompts=64, samples=4, answer_tokens=100)
    batches = 64 * 4 / SAMPLING_BATCH + 1
    assert spec.device_seconds(1000, 1) == START_SECONDS + batches * 100 * DECODING_SECONDS
    assert spec.device_seconds(32, 1) < spec.device_seconds(64, 1) == spec.device_seconds(65, 1)
    assert spec.device_seconds(64, 10**9) > 50 * spec.device_seconds(64, 10**6)


def test_each_prompt_is_asked_once_with_its_known_answer(tmp_path: Path) -> None:
    def lay(*rows: object) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "data.jsonl").write_text(lines)

    lay({"prompt": "p", "answer": "1"}, {"prompt": "q"}, {"prompt": "q"})
    assert prompts(tmp_path, "prompts") == [Problem(prompt="p", answer="1"), Prompt(prompt="q")]
    lay({"prompt": "p", "completion": "1"}, {"prompt": "p", "completion": "2"})
    assert prompts(tmp_path, "rows") == [Prompt(prompt="p")]
    with pytest.raises(Untrainable, match=r"line 1 of data\.jsonl holds rows"):
        prompts(tmp_path, "prompts")


def test_rows_and_figures_are_written_as_they_are_read(tmp_path: Path) -> None:
    write(tmp_path, kept(SampleSpec(keep="pairs"), ["a", "none"]))
    assert json.loads((tmp_path / "rows.jsonl").read_text()) == {
        "prompt": "q0",
        "chosen": "a",
        "rejected": "none",
    }
    told = SampleResult.model_validate_json((tmp_path / "result.json").read_text())
    assert told == SampleResult(asked=1, drawn=2, right=1, kept=1)
