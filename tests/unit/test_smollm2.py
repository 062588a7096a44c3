"""The base smollm2: a source that is pinned, a conversion that is exact, a contract that fits."""

import hashlib
import json
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from safetensors import SafetensorError

from rsi_master.app import bases, contracts, inspection, start
from rsi_master.app.home import Home
from rsi_master.core.contract import parse
from rsi_master.core.errors import Misuse, Refused
from rsi_master.interfaces.cli import main
from rsi_master.programs.sealed.gym.benchmark import GYM
from rsi_master.programs.smollm2 import __main__ as program
from rsi_master.programs.smollm2 import package
from rsi_master.testing.folders import digest_of

ROOT = Path(__file__).parents[2]
REPAIR = re.escape(package.REPAIR)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Home.default()


def prepared(home: Home) -> Path:
    """A folder with a record in the place of the prepared base."""
    folder = home.base("smollm2")
    folder.mkdir(parents=True)
    shutil.copyfile(bases.find("nano", home) / inspection.WEIGHTS, folder / inspection.WEIGHTS)
    (folder / inspection.CONFIG).write_text('{"model_type": "tiny"}', encoding="utf-8")
    (folder / inspection.TOKENIZER).write_text('{"model": {"vocab": {"a": 0}}}', encoding="utf-8")
    lines = []
    for name in sorted(inspection.NEEDED):
        lines.append(f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n")
    record = "".join(lines)
    (folder / inspection.DIGESTS).write_text(record, encoding="utf-8")
    return folder


def test_without_the_package_the_program_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(package, "MODULE", "no_such_package")
    monkeypatch.setattr(sys, "argv", ["smollm2", str(tmp_path)])
    assert program.main() == 3
    told = json.loads(capsys.readouterr().err)
    assert told["code"] == "BASE_PACKAGE"
    assert told["message"] == f"base 'smollm2' needs no_such_package; {package.INSTALL}"
    assert list(tmp_path.iterdir()) == []


def test_what_is_advised_is_what_the_page_says_and_what_the_project_declares() -> None:
    page = (ROOT / "docs" / "smollm2.md").read_text(encoding="utf-8")
    commands = page.partition("```\n")[2].partition("```")[0].splitlines()
    assert commands[:3] == ["make setup", package.LIBRARIES, package.PACKAGE]
    assert [line.split()[0] for line in commands[3:]] == [".venv/bin/rsi"] * 3
    assert package.INSTALL.endswith(f"`make setup`: {package.LIBRARIES} and then {package.PACKAGE}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = re.fullmatch(r"\.\[(.+)\]", shlex.split(package.LIBRARIES)[-1])
    assert extras is not None
    wanted = [
        line for name in extras[1].split(",") for line in project["optional-dependencies"][name]
    ]
    installed = {re.split(r"[<>=]", line)[0] for line in wanted}
    assert {"torch", "transformers", "gguf", "reasoning-gym"} <= installed
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert any(line.startswith(f"{shlex.split(package.PACKAGE)[-1]}==") for line in pins)


def test_other_weights_under_the_same_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "foreign_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('never imported')", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(package, "MODULE", "foreign_weights")
    with pytest.raises(Refused, match=f"holds no {package.FILE}; {REPAIR}"):
        package.weights()
    (folder / package.FILE).write_bytes(b"GGUF")
    with pytest.raises(Refused, match=f"not {package.SHA256}; {REPAIR}"):
        package.weights()


@pytest.mark.parametrize(
    "problem", [SafetensorError("disk full"), OSError("disk full"), KeyError("disk full")]
)
def test_whatever_the_libraries_raise_is_a_reason_after_a_line_of_what_it_takes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    problem: Exception,
) -> None:
    def convert(source: Path, folder: Path, card: str) -> None:
        raise problem

    libraries = ModuleType("convert")
    libraries.convert = convert  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "rsi_master.programs.smollm2.convert", libraries)
    monkeypatch.setattr(package, "weights", lambda: tmp_path / package.FILE)
    monkeypatch.setattr(package, "require", lambda *modules: None)
    monkeypatch.setattr(sys, "argv", ["smollm2", str(tmp_path)])
    assert program.main() == 7
    first, last = capsys.readouterr().err.splitlines()
    assert "takes about 1.2 GB of memory" in first
    told = json.loads(last)
    assert told["code"] == "BASE_FAILED"
    assert f"{type(problem).__name__}: " in told["message"]
    assert "disk full" in told["message"]
    assert "run `rsi base add smollm2` again" in told["message"]


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
    assert main(["base", "add", "smollm2", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["new"] is False
    assert answer["digest"] == digest_of(folder)


def test_a_damaged_base_is_neither_there_nor_pinned(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = prepared(home)
    (folder / "model.safetensors").write_bytes(b"other")
    for words in (["base", "add", "smollm2", "--json"], ["init", "mine", "--profile", "smollm2"]):
        assert main(words) == 1
        told = capsys.readouterr().err
        assert "BASE_DAMAGED" in told
        assert f"remove {folder} and run" in told
    assert not Path("mine.toml").exists()
