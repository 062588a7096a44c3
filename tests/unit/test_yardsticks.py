"""What is published for a benchmark is shown for its own suite and base, and for nothing else."""

from pathlib import Path

import pytest
from bench import published

from rsi_master.app import yardsticks as app
from rsi_master.app.yardsticks import Unknown, Yardsticks, yardsticks
from rsi_master.core.errors import Finding
from rsi_master.core.sealed import SealedSet
from rsi_master.testing.tape import digest

PAGE = (Path(__file__).parents[2] / published.PAGE).read_text(encoding="utf-8")
FILE = Yardsticks.model_validate_json(published.FILE.read_bytes())


def sealed(
    benchmark: str = "nano", suite: str | None = FILE.suite, base: str = FILE.base
) -> SealedSet:
    """A sealed set of the suite and base that the file names."""
    return SealedSet.model_validate(
        {
            "benchmark": benchmark,
            "digest": digest("set"),
            "protocol": digest("protocol"),
            "base": base,
            "openings": 1,
            "sizes": {},
            "tasks": ("sums",),
            "sources": (),
            "suite": suite,
        }
    )


def test_a_run_on_nano_has_the_figures_of_its_page() -> None:
    assert yardsticks(sealed()) == FILE


@pytest.mark.parametrize(
    ("suite", "base"),
    [(None, FILE.base), (digest("x"), FILE.base), (FILE.suite, digest("x"))],
)
def test_another_suite_or_base_has_none(suite: str | None, base: str) -> None:
    told = Unknown("what is published for the benchmark nano is of another suite or base")
    assert yardsticks(sealed(suite=suite, base=base)) == told


@pytest.mark.parametrize("benchmark", ["reasoning-gym", "jsonl", "sketch", "not installed"])
def test_other_benchmarks_have_none(benchmark: str) -> None:
    told = Unknown(f"none is published for the benchmark {benchmark}")
    assert yardsticks(sealed(benchmark)) == told


def test_a_file_that_is_damaged_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "FOLDER", str(tmp_path))
    (tmp_path / "nano.json").write_text('{"benchmark": "nano"}', encoding="utf-8")
    found = yardsticks(sealed())
    assert isinstance(found, Unknown)
    assert found.reason.startswith("what is published for the benchmark nano cannot be read: ")


def test_the_file_is_made_of_the_page() -> None:
    """After a new table: python -m bench.published"""
    assert published.text(published.read(PAGE)) == published.FILE.read_text(encoding="utf-8")
    base = next(line for line in PAGE.splitlines() if line.startswith("| base on the holdout | "))
    assert base.startswith(f"| base on the holdout | {100 * FILE.best.base.value:.1f} | ")
    assert FILE.best.what in PAGE


@pytest.mark.parametrize(
    ("there", "instead", "told"),
    [
        ("| suite, source text | `sha256:", "| suite, source text | `sha256:0", "suite"),
        ("| base, `config.json` | `sha256:", "| base, `config.json` | `sha256:0", "config"),
        ("### Best", "### Better", "has nothing like"),
        ("- [x] The base", "- [ ] The base", "a claim does not hold: The base averages"),
        ("| base on the holdout | ", "| base on the holdout | more | ", "as many cells"),
        ("| base on the holdout | 24.4 ", "| base on the holdout | n/a ", "a score and its error"),
        ("| base on the holdout | 24.4 ", "| base on the holdout | nan ", "a score and its error"),
        ("| base on the holdout |", "| the base |", "has no row 'base on the holdout'"),
    ],
)
def test_a_page_that_does_not_fit_is_refused(there: str, instead: str, told: str) -> None:
    assert there in PAGE
    with pytest.raises(Finding, match=told) as found:
        published.read(PAGE.replace(there, instead))
    assert found.value.code == "PAGE_DIFFERS"
