"""Contracts on own questions: sizes from the smallest task, and means that carry a run."""

from pathlib import Path

import pytest

from rsi_master.app import contracts, start
from rsi_master.app.questions import Questions, share
from rsi_master.core.contract import parse
from rsi_master.core.score import Split
from rsi_master.core.sealed_wire import Survey
from rsi_master.interfaces.cli import main

DIGEST = "sha256:" + "a" * 64
BASE = "sha256:" + "b" * 64
MOST: dict[Split, int] = {"dev": 40, "confirm": 64, "holdout": 96}


def surveyed(**questions: int) -> Survey:
    return Survey(digest=DIGEST, rows=500, questions=questions)


@pytest.mark.parametrize(
    ("questions", "each"),
    [
        ({"own": 20}, {"dev": 3, "confirm": 4, "holdout": 5}),
        ({"own": 100}, {"dev": 15, "confirm": 20, "holdout": 25}),
        ({"own": 9_000}, {"dev": 40, "confirm": 64, "holdout": 96}),
        ({"a": 100, "b": 9_000, "c": 50}, {"dev": 7, "confirm": 10, "holdout": 12}),
        ({f"t{at}": 100 for at in range(50)}, {"dev": 1, "confirm": 1, "holdout": 1}),
    ],
)
def test_each_split_takes_its_share_of_the_smallest_task_within_bounds(
    questions: dict[str, int], each: dict[Split, int]
) -> None:
    assert share(surveyed(**questions), MOST) == each


def test_sizes_count_all_tasks_and_the_rest_is_left() -> None:
    found = Questions(BASE, surveyed(a=100, b=60), {"dev": 9, "confirm": 12, "holdout": 15})
    assert found.sizes == {"dev": 18, "confirm": 24, "holdout": 30}
    assert found.left == 88


@pytest.mark.parametrize("profile", list(contracts.PROFILES))
@pytest.mark.parametrize("tasks", [1, 3])
def test_the_contract_of_each_profile_can_carry_a_run(profile: str, tasks: int) -> None:
    found = surveyed(**{f"t{at}": 2_000 for at in range(tasks)})
    each = share(found, dict(contracts.known(profile).most))
    contract = parse(contracts.own("mine", profile, Questions(BASE, found, each)), "mine")
    start.check_budget(contract)
    assert (contract.base.name, contract.base.digest) == (profile, BASE)
    assert (contract.evaluator.benchmark, contract.evaluator.items) == ("jsonl", DIGEST)
    assert {split: getattr(contract.evaluator, split) for split in each} == each


def test_a_base_that_is_not_there_is_told_before_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    words = ["init", "mine", "--benchmark", "none.jsonl", "--profile"]
    assert main([*words, "smollm2"]) == 3
    assert "BASE_NOT_ADDED" in capsys.readouterr().err
    assert main([*words, "larger"]) == 2
    assert "PROFILE" in capsys.readouterr().err
    (tmp_path / "mine.toml").write_text("precious", encoding="utf-8")
    assert main([*words, "nano"]) == 2
    assert "EXISTS" in capsys.readouterr().err
