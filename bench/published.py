"""What docs/nano.md publishes for the report of a run, as the file that the package ships:
python -m bench.published"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.nano import material

from rsi_master.app.yardsticks import FOLDER, Measured, Yardstick, Yardsticks
from rsi_master.core.canonical import digest
from rsi_master.core.errors import Finding
from rsi_master.core.score import Split
from rsi_master.programs import sealed
from rsi_master.programs.nano import weights
from rsi_master.programs.sealed.nano import NANO
from rsi_master.programs.sealed.vault import read_base

PAGE: Final = "docs/nano.md"
START: Final = "base on the holdout"
HELD: Final = "the same lineage on the holdout"
ROOT: Final = Path(__file__).parents[1]
FILE: Final = Path(sealed.__file__).parent / FOLDER / "nano.json"

Rows = Mapping[str, Mapping[str, str]]


def read(page: str) -> Yardsticks:
    """The figures of the page; raises Finding where it lacks one, where a claim does not hold, or
    where it is of another base or suite than those of this tree."""
    for name, value in weights.digests(weights.base_folder()).items():
        if name not in material.TOLD:
            _same(page, f"base, `{name}`", f"sha256:{value}")
    _same(page, "suite, source text", material.suite_digest())
    failed = re.findall(r"^- \[ \] (.+?): ", page, re.MULTILINE)
    if failed:
        raise Finding(
            "PAGE_DIFFERS", f"{PAGE}: a claim does not hold: {failed[0]}; make bench-nano"
        )
    base, best = _rows(page, "Base"), _rows(page, "Best")
    few = next((name for name in base if name != "base"), "examples before the question")
    lineage = next(iter(best))
    return Yardsticks(
        benchmark=NANO.name,
        base=read_base(weights.base_folder()).weights.digest(),
        suite=digest(NANO.grader_source()),
        page=PAGE,
        items=int(_found(page, r"per cent of the points on (\d+) questions")),
        few_shot=_yardstick(f"the base with {few}", "dev", _row(base, few), _row(base, "base")),
        best=_yardstick(lineage, "holdout", _row(best, HELD), _row(best, START)),
    )


def _yardstick(
    what: str, split: Split, row: Mapping[str, str], base: Mapping[str, str]
) -> Yardstick:
    seeds = int(row["seeds"])
    return Yardstick(what=what, split=split, seeds=seeds, score=_score(row), base=_score(base))


def _score(row: Mapping[str, str]) -> Measured:
    """Per cent become shares; what stands in brackets is the spread between seeds."""
    told = row["average"].split(" ")[0], row["s.e."]
    try:
        value, error = (round(float(one) / 100, 6) for one in told)
        return Measured(value=value, error=error)
    except ValueError as cause:
        raise _unlike(f"a score and its error in per cent where it says {told}") from cause


def _rows(page: str, group: str) -> Rows:
    """The rows of the table under that heading by their first cell, cells by column."""
    table = _found(page, rf"^### {group}\n\n((?:\|.+\n)+)").splitlines()
    head, _, *rows = (line.strip("| ").split(" | ") for line in table)
    try:
        return {cells[0]: dict(zip(head, cells, strict=True)) for cells in rows}
    except ValueError as cause:
        raise _unlike(f"rows of as many cells as columns under {group}") from cause


def _row(rows: Rows, name: str) -> Mapping[str, str]:
    if name not in rows:
        raise Finding("PAGE_DIFFERS", f"{PAGE} has no row {name!r}; make bench-nano")
    return rows[name]


def _same(page: str, name: str, wanted: str) -> None:
    told = _found(page, rf"^\| {re.escape(name)} \| `(sha256:[0-9a-f]{{64}})` \|$")
    if told != wanted:
        raise Finding(
            "PAGE_DIFFERS", f"{PAGE} is of {name} {told}, this tree has {wanted}; make bench-nano"
        )


def _found(page: str, pattern: str) -> str:
    match = re.search(pattern, page, re.MULTILINE)
    if match is None:
        raise _unlike(repr(pattern))
    return match[1]


def _unlike(what: str) -> Finding:
    return Finding("PAGE_DIFFERS", f"{PAGE} has nothing like {what}; make bench-nano")


def text(found: Yardsticks) -> str:
    """The file's text."""
    return found.model_dump_json(indent=2) + "\n"


def _page() -> str:
    try:
        return (ROOT / PAGE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise Finding("PAGE_DIFFERS", f"{PAGE} cannot be read: {cause}; make bench-nano") from cause


def main() -> int:
    """Write the file; 1 where the page does not fit."""
    try:
        found = read(_page())
    except Finding as problem:
        print(f"bench: {problem.code}: {problem.message}", file=sys.stderr)
        return problem.exit_code
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(text(found), encoding="utf-8")
    print(f"wrote {FILE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
