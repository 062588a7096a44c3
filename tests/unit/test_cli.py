import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from rsi_master.app import contracts
from rsi_master.core.contract import Contract, parse
from rsi_master.core.model import Value
from rsi_master.interfaces import words
from rsi_master.interfaces.act import exit_code
from rsi_master.interfaces.cli import main

TRAINING = ("torch", "transformers", "trl", "peft", "datasets", "accelerate", "scipy")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RSI_TOKEN", raising=False)
    monkeypatch.delenv("RSI_RUN", raising=False)
    scripts = sysconfig.get_path("scripts")
    monkeypatch.setenv("PATH", f"{scripts}{os.pathsep}{os.environ['PATH']}")


def test_help_is_the_table_of_contents(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    for name in (
        "demo",
        "init",
        "run",
        "resume",
        "status",
        "show",
        "try",
        "graph",
        "verify",
        "act",
    ):
        assert f"\n  {name} " in shown


@pytest.mark.parametrize("words", [["nonsense"], ["run"], ["status", "--colour"]])
def test_wrong_words_are_one_line_and_exit_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("rsi: USAGE: ")
    assert shown.err.count("\n") == 1


def test_without_a_run_the_next_step_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 2
    assert capsys.readouterr().err == (
        "rsi: NO_RUN: no run in runs; `rsi demo` or `rsi run CONTRACT` makes one\n"
    )


def test_without_the_run_that_was_named_the_newest_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = [f"{letter}-0000000{at}-0000" for at, letter in enumerate("dcba")]
    for name in names:
        (Path("runs") / name).mkdir(parents=True)
        (Path("runs") / name / "run.id").write_text(name, encoding="utf-8")
    assert main(["status", "elsewhere"]) == 2
    told = capsys.readouterr().err
    assert told.endswith(f"; the newest are {', '.join(reversed(names[1:]))}\n")


def test_commands_can_be_pasted_where_the_shell_finds_no_such_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert words.program() == "rsi"
    other = tmp_path / "bin" / "rsi"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    other.chmod(0o755)
    for path in ("", str(other.parent)):
        monkeypatch.setenv("PATH", path)
        assert main(["status"]) == 2
        command = capsys.readouterr().err.partition("`")[2].partition(" demo`")[0]
        shell = ["/bin/sh", "-c", f"{command} --help"]
        done = subprocess.run(shell, capture_output=True, timeout=60, check=True)
        assert b"Usage: rsi" in done.stdout
    monkeypatch.setattr(sysconfig, "get_path", lambda _name: str(tmp_path))
    assert words.program().endswith(" -m rsi_master")


def test_an_unexpected_error_is_one_line_and_exit_7(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no\nway")

    monkeypatch.setattr("rsi_master.interfaces.runs.find", broken)
    assert main(["status"]) == 7
    assert capsys.readouterr().err == (
        "rsi: UNEXPECTED: ZeroDivisionError: no way; --debug shows the trace\n"
    )
    with pytest.raises(ZeroDivisionError):
        main(["status", "--debug"])


def test_an_interrupt_is_exit_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rsi_master.interfaces.runs.find", interrupted)
    assert main(["status"]) == 130
    assert capsys.readouterr().err.startswith("rsi: INTERRUPTED: ")


def test_init_writes_a_contract_that_parses_to_the_defaults() -> None:
    assert main(["init", "mine"]) == 0
    text = Path("mine.toml").read_text(encoding="utf-8")
    contract = parse(text, "mine.toml")
    assert contract.name == "mine"
    for name, field in Contract.model_fields.items():
        if isinstance(field.default, Value):
            assert getattr(contract, name) == field.default, name
    assert contract.policy == contract.policy.model_copy(
        update={
            name: field.default
            for name, field in type(contract.policy).model_fields.items()
            if not field.is_required()
        }
    )


def test_init_explains_every_key() -> None:
    text = contracts.fresh("mine")
    whole = parse(text, "mine").model_dump(mode="json", exclude_none=True)
    for name, value in whole.items():
        inner = value if isinstance(value, dict) else {name: value}
        assert all(f"\n{key} = " in text for key in inner), name


def test_init_overwrites_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text("precious", encoding="utf-8")
    assert main(["init", "mine"]) == 2
    assert Path("mine.toml").read_text(encoding="utf-8") == "precious"
    assert "EXISTS" in capsys.readouterr().err


def test_init_refuses_a_name_that_no_contract_may_have(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["init", "Mine!", "--out", "mine.toml"]) == 2
    assert not Path("mine.toml").exists()
    assert "Mine!" in capsys.readouterr().err


def test_the_demonstration_is_a_contract_under_its_seed() -> None:
    contract = parse(contracts.demo(7), "demo")
    assert contract.seed == 7
    rows = ("nano/direct", "nano/scratchpad", "nano/scraped")
    assert contract.policy.sources == (*rows, "nano/prompts", "nano/pairs")
    assert (contract.policy.promoted, contract.policy.seeds_of_promotion) == (2, 2)


def test_a_contract_that_is_none_is_refused_before_anything_is_made(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("bad.toml").write_text('nam = "x"', encoding="utf-8")
    assert main(["run", "bad.toml"]) == 3
    assert main(["run", "absent.toml"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 2
    assert "absent.toml cannot be read: No such file or directory; `rsi init" in told
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["act", "quota.read"], "NO_RUN"),
        (["act", "quota.raed"], "UNKNOWN_ACTION"),
        (["act", "data.add", "source"], "BAD_ARGUMENT"),
        (["act", "data.add", "--json", "[]"], "BAD_ARGUMENT"),
        (["act", "data.add", "--jsn", "{}"], "USAGE"),
    ],
)
def test_act_answers_one_json_object_whatever_happens(
    words: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    answer = json.loads(shown.out)
    assert (answer["ok"], answer["code"], answer["exit"]) == (False, code, 2)
    assert shown.err == ""


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"ok": True, "answer": {"node": "w1"}}, 0),
        ({"ok": True, "answer": {"failed": "test 0 gives 1.0, not 0.5"}}, 1),
        ({"ok": False, "code": "ROLE", "exit": 4}, 4),
        ({"ok": False, "code": "ODD"}, 7),
    ],
)
def test_what_came_to_nothing_is_no_success(answer: dict[str, object], code: int) -> None:
    assert exit_code(answer) == code


def test_a_mistyped_action_is_told_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    for rest in ([], ["--help"]):
        assert main(["act", "quota.raed", *rest]) == 2
        assert "did you mean quota.read?" in json.loads(capsys.readouterr().out)["message"]


def test_act_lists_by_role_and_explains(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["act", "--list", "--role", "worker"]) == 0
    shown = capsys.readouterr().out
    assert "experiment.submit" in shown
    assert "champion.claim" not in shown
    assert main(["act", "data.inspect", "--help"]) == 0
    assert "whole number, 1 to 20 (default 5)" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["show", "act", "try"])
def test_reading_loads_no_training_stack(command: str) -> None:
    code = (
        "import sys\n"
        "from rsi_master.interfaces.cli import main\n"
        f"main([{command!r}, 'x'])\n"
        f"print(sorted(set({TRAINING!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
