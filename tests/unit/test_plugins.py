"""Extension points: what is installed by name, and the digest that a run holds a recipe to."""

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


def test_the_digest_of_the_training_recipe_does_not_load_its_stack() -> None:
    """The owner computes it at each start; it must read files, not import the program."""
    names = set(sys.modules)
    assert plugins.source_digest(SFT) == plugins.source_digest(SFT)
    assert not {"torch", "trl", "rsi_master.programs.jobs.sft"} & (set(sys.modules) - names)
