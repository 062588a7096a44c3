"""Extension points: what is installed by name, and the digest that a run holds a recipe to."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rsi_master.app import plugins
from rsi_master.core.errors import Refused
from rsi_master.core.job import Program
from rsi_master.core.recipe import Recipe
from rsi_master.domains.training.sft import SFT, SftSpec

PACKAGES = ("foreign_program", "foreign_spec")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two packages of two modules, one of them with a package inside."""
    for package in PACKAGES:
        (tmp_path / package / "inner").mkdir(parents=True)
        for file in ("__init__.py", "main.py", "beside.py", "inner/__init__.py", "inner/deep.py"):
            (tmp_path / package / file).write_text("", encoding="utf-8")
    (tmp_path / "foreign_alone.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0].startswith("foreign_")]:
        del sys.modules[name]


def recipe(program: str = "foreign_program.main", spec: str = "foreign_spec.main") -> Recipe:
    return Recipe(
        name="foreign",
        spec=type("ForeignSpec", (SftSpec,), {"__module__": spec}),
        program=Program(entry=f"{program}:run"),
    )


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("file", ["main.py", "beside.py", "__init__.py", "inner/deep.py"])
def test_the_digest_covers_the_packages_of_program_and_specification(
    root: Path, package: str, file: str
) -> None:
    before = plugins.source_digest(recipe())
    (root / package / file).write_text("changed = 1\n", encoding="utf-8")
    assert plugins.source_digest(recipe()) != before


def test_the_digest_sees_a_file_that_is_new_or_has_another_name(root: Path) -> None:
    found = [plugins.source_digest(recipe())]
    new = root / "foreign_program" / "new.py"
    new.write_text("", encoding="utf-8")
    found.append(plugins.source_digest(recipe()))
    new.rename(root / "foreign_program" / "newer.py")
    found.append(plugins.source_digest(recipe()))
    assert len(set(found)) == 3


def test_what_lies_beside_the_packages_is_not_covered(root: Path) -> None:
    before = plugins.source_digest(recipe())
    (root / "foreign_alone.py").write_text("changed = 1\n", encoding="utf-8")
    assert plugins.source_digest(recipe()) == before


def test_a_module_without_a_package_is_covered_alone(root: Path) -> None:
    before = plugins.source_digest(recipe("foreign_alone"))
    (root / "other.py").write_text("", encoding="utf-8")
    assert plugins.source_digest(recipe("foreign_alone")) == before
    (root / "foreign_alone.py").write_text("changed = 1\n", encoding="utf-8")
    assert plugins.source_digest(recipe("foreign_alone")) != before


def test_a_missing_module_is_named(root: Path) -> None:
    with pytest.raises(Refused, match=r"foreign_program\.gone of recipe foreign"):
        plugins.source_digest(recipe("foreign_program.gone"))


SPEC = """
from typing import ClassVar, Literal
from rsi_master.core.artifact import RowKind
from rsi_master.core.job import Program
from rsi_master.core.recipe import Recipe, RecipeSpec

class Spec(RecipeSpec):
    objective: ClassVar[str] = "foreign"
    takes: ClassVar[RowKind] = "rows"
    name: Literal["foreign"] = "foreign"
    def parametrisation(self) -> str: return "full"
    def effective(self) -> dict[str, object]: return self.model_dump()
    def planned_steps(self, rows: int) -> int: return rows
    def trains(self, tensor: str) -> bool: return True
    def device_seconds(self, rows: int, parameters: int) -> float: return 1.0

RECIPE = Recipe(name="foreign", spec=Spec, program=Program(entry="foreign_spec.main:run"))
"""


def install(root: Path, source: str) -> None:
    """A distribution with the entry point `foreign`, as pip would lay it out."""
    (root / "foreign_spec" / "main.py").write_text(source, encoding="utf-8")
    about = root / "foreign-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: foreign\nVersion: 1.0\n", encoding="utf-8")
    points = f"[{plugins.RECIPES}]\nforeign = foreign_spec.main:RECIPE\n"
    (about / "entry_points.txt").write_text(points, encoding="utf-8")


def test_an_installed_recipe_is_found_by_its_entry_point(root: Path) -> None:
    install(root, SPEC)
    assert plugins.recipes(("foreign", "sft"))["foreign"].spec.__name__ == "Spec"


@pytest.mark.parametrize(
    ("line", "instead", "told"),
    [
        (
            ' = "rows"',
            "",
            "declares no takes, the kind of rows that it trains on: rows, prompts, pa",
        ),
        (' = "rows"', ' = "images"', "declares no takes"),
        (' = "foreign"\n    takes', "\n    takes", "declares no objective"),
        (", parameters: int", "", "has a device_seconds that does not take (rows, parameters)"),
        ("rows: int) -> int", ") -> int", "has a planned_steps that does not take (rows)"),
        ("def trains", "def changes", "defines no trains(tensor)"),
        ("(RecipeSpec):", "(NoSpec):", "cannot be loaded: NameError"),
        ("import Recipe, RecipeSpec", "import Recipe, Spec", "cannot be loaded: ImportError"),
        ("RECIPE =", "RENAMED =", "cannot be loaded: AttributeError"),
        ('entry="foreign', 'gpus=1, entry="foreign', "cannot be loaded: ValidationError"),
    ],
)
def test_a_recipe_for_another_version_is_refused_when_it_is_loaded(
    root: Path, line: str, instead: str, told: str
) -> None:
    assert line in SPEC
    install(root, SPEC.replace(line, instead, 1))
    with pytest.raises(Refused, match=re.escape(f"recipe 'foreign' {told}")) as refused:
        plugins.recipes(("foreign",))
    assert refused.value.code == "RECIPE_INVALID"
    assert "install a version of its package that fits" in refused.value.message


def test_an_entry_point_that_is_no_recipe_is_named(root: Path) -> None:
    install(root, "RECIPE = object()\n")
    with pytest.raises(Refused, match="entry point 'foreign' is no Recipe"):
        plugins.recipes(("foreign",))


def test_the_digest_of_the_training_recipe_does_not_load_its_stack() -> None:
    """The owner computes it at each start; it must read files, not import the program."""
    names = set(sys.modules)
    assert plugins.source_digest(SFT) == plugins.source_digest(SFT)
    assert not {"torch", "trl", "rsi_master.programs.jobs.sft"} & (set(sys.modules) - names)
