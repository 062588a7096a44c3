"""Pictures, contracts and commands agree: what the pages say of the tree is what is enforced."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

from rsi_master.app.owner import Interrupted
from rsi_master.core.errors import RsiError
from rsi_master.interfaces.cli import app

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "rsi_master"
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", *sorted(
    str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")
))  # fmt: skip
GENERATED = {".venv", ".git", "runs", "build", "dist", "__pycache__"}


def contracts() -> dict[str, Any]:
    """The import contracts by id."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {one["id"]: one for one in settings["tool"]["importlinter"]["contracts"]}


def architecture() -> str:
    """The page."""
    return (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def readme() -> str:
    """The page that a newcomer reads."""
    return (ROOT / "README.md").read_text(encoding="utf-8")


def picture() -> tuple[list[str], set[str]]:
    """Layers from the top down as drawn, and what is drawn beside them."""
    drawn = re.search(r"<!-- layers:.*?-->\n```\n(.*?)\n```", architecture(), re.DOTALL)
    assert drawn, "docs/architecture.md has no picture after its <!-- layers --> mark"
    stack, _, beside = drawn[1].partition("----\n")
    return _names(stack), set(_names(beside))


def _names(block: str) -> list[str]:
    return [re.split(r"\s{2,}", line)[0] for line in block.splitlines()]


def files() -> Iterator[Path]:
    """Every text file of the project."""
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = parts[0].startswith(".") and parts[0] not in (".ci", ".gitignore")
        if path.is_file() and not hidden and not GENERATED.intersection(parts):
            yield path


def test_the_picture_shows_the_layers_that_are_enforced() -> None:
    layers = contracts()["layers"]
    stack, beside = picture()
    assert stack == layers["layers"]
    assert beside == set(layers["exhaustive_ignores"]) - {"__main__"}


def test_the_picture_shows_every_part_of_the_package() -> None:
    stack, beside = picture()
    drawn = {name for layer in stack for name in layer.split(" | ")} | beside
    assert drawn == {
        folder.name for folder in PACKAGE.iterdir() if (folder / "__init__.py").exists()
    }


def test_the_page_names_the_contracts_that_are_enforced() -> None:
    rows = dict(re.findall(r"^\| (\w+) \| (.+?) \|$", architecture(), re.MULTILINE))
    enforced = {name: contract["name"] for name, contract in contracts().items()}
    assert {name: rows.get(name) for name in enforced} == enforced


def test_the_page_places_every_file_of_the_experiment_os() -> None:
    table = architecture().partition("| file of `expos/` |")[2].partition("\n\n")[0]
    placed = {name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row[:120])}
    assert placed == {path.stem for path in (PACKAGE / "expos").glob("[a-z]*.py")}


def test_the_records_page_names_every_flaw_of_the_sequence_and_its_heads() -> None:
    sources = [PACKAGE / "expos" / f"{name}.py" for name in ("verify", "heads", "order", "notes")]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    codes = set(re.findall(r'(?:Flaw\(code=|_each\(|Finding\()"([A-Z_]+)"', text))
    page = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    assert {code for code in codes if f"`{code}`" not in page} == set()


def test_the_records_page_names_every_law_that_is_broken() -> None:
    sources = [*(PACKAGE / "expos" / "laws").glob("*.py"), PACKAGE / "expos" / "books.py"]
    text = "".join(path.read_text(encoding="utf-8") for path in (*sources, PACKAGE / "app/laws.py"))
    codes = set(re.findall(r'(?:flaw\(|Flaw\(\s*code=|^    \()"([A-Z_]+)"', text, re.MULTILINE))
    assert {"OVER_CAP", "CHAMPION", "OVERSPENT", "DATA_UNKNOWN"} <= codes
    page = (ROOT / "docs" / "records.md").read_text(encoding="utf-8")
    assert {code for code in codes if f"`{code}`" not in page} == set()


def test_the_contracts_cover_the_whole_stack() -> None:
    stack, _ = picture()
    parts = {f"rsi_master.{name}" for layer in stack for name in layer.split(" | ")}
    for name in ("beside", "torch"):
        assert set(contracts()[name]["source_modules"]) == parts, name


def test_the_contracts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True, is_debug_mode=False)
    assert status == EXIT_STATUS_SUCCESS


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_make_targets_that_exist(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|^ {4})make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    lost = [link for link in links if not (ROOT / page).parent.joinpath(link).exists()]
    assert lost == []


def test_the_readme_shows_a_run_and_says_where_it_comes_from() -> None:
    shown = (ROOT / "README.md").read_text("utf-8").split("<!-- demo -->")[1]
    shown = shown.split("<!-- /demo -->")[0]
    assert "on the holdout" in shown
    assert "make bench" in shown
    for line in re.findall(r"^    (?!…)(.+)$", shown, re.MULTILINE):
        assert line in (ROOT / "docs" / "demo.md").read_text("utf-8")


def test_the_readme_lists_every_command() -> None:
    listed = re.findall(r"^\| `rsi (\w+)", readme(), re.MULTILINE)
    assert sorted(listed) == sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_the_readme_lists_the_exit_codes_of_the_errors() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", readme(), re.MULTILINE)}
    errors: tuple[type[RsiError], ...] = (*RsiError.__subclasses__(), Interrupted)
    raised = {error.exit_code for error in errors}
    assert listed == {0, *raised}


def test_no_file_names_a_folder_of_one_machine() -> None:
    machine = re.compile(rb"(?<![\w.)}~-])/(?:work|root|opt)/")
    found = [
        f"{path.relative_to(ROOT)}: {match[0].decode()}"
        for path in files()
        if (match := machine.search(path.read_bytes()))
    ]
    assert found == []
