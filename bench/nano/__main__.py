"""Carries out what is missing of the table and writes the page and its figure.

python -m bench.nano docs/nano.md                  everything; about a core-hour
python -m bench.nano docs/nano.md --only lineages  a part, to the screen: the page stays as it is
python -m bench.nano docs/nano.md --quick          the shape of it in minutes, to the screen
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from bench.nano import material, page, plan
from bench.nano.landscape import Landscape
from bench.nano.table import table

from rsi_master.app import bases
from rsi_master.app.contracts import BASE
from rsi_master.app.home import Home
from rsi_master.core.errors import Finding

WORK: Final = Path("build/bench-nano")
ITEMS: Final = 100
QUICK_ITEMS: Final = 8
ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # a thread before the fork may hang it
    "HF_HUB_OFFLINE": "1",
}


def main() -> int:
    """Run; 1 where a step failed or the base is damaged, 2 for wrong use, 7 where a disk failed."""
    asked = _arguments()
    os.environ.update(ONE_THREAD)
    wrong = _unusable(asked)
    if wrong:
        _say(f"bench: {wrong}")
        return 2
    try:
        bases.sound(BASE, Home.default())
    except Finding as damage:
        _say(f"bench: {damage.code}: {damage.message}")
        return 1
    wanted = table().only(tuple(asked.only))
    wanted = wanted.quick() if asked.quick else wanted
    context = material.context(QUICK_ITEMS if asked.quick else ITEMS)
    bench = plan.Bench(asked.work.absolute(), context)
    try:
        failures = plan.carry_out(bench, wanted.nodes(), asked.processes, _say)
    except plan.Unusable as cause:
        _say(str(cause))
        return 2
    except (FileExistsError, NotADirectoryError, PermissionError) as cause:
        _say(f"bench: --work: {cause}; name another folder")
        return 2
    except OSError as cause:
        _say(f"bench: {cause}; what was carried out is kept, run again when there is room")
        return 7
    return _told(Landscape(wanted, bench), failures, asked)


def _unusable(asked: argparse.Namespace) -> str | None:
    """Why these arguments cannot be followed."""
    for word in asked.only:
        if not word.strip() or not any(table().only((word,)).nodes()):
            return f"no part of the table is named {word!r}; see bench/nano/table.py"
    wrong = _unwritable(asked.page)
    return f"{wrong}; name a page that can be written" if wrong else None


def _told(found: Landscape, failures: Sequence[str], asked: argparse.Namespace) -> int:
    """The page where all of the table is there, else the part to the screen."""
    whole = not (asked.only or asked.quick)
    if whole and not failures:
        return _published(found, asked.page)
    print(page.write(found, asked.page.with_suffix(".svg").name, whole=False))
    for failure in failures:
        _say(failure)
    if failures:
        _say(f"bench: {asked.page} stays as it was: {len(failures)} failures, see above")
    return 1 if failures else 0


class _Parser(argparse.ArgumentParser):
    """Tells in one line what is wrong with the command line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"bench: {message}\n")


def _arguments() -> argparse.Namespace:
    parser = _Parser(
        prog="python -m bench.nano",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("page", type=_path, help="the page; its figure gets the same name in .svg")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="parts by name")
    parser.add_argument("--quick", action="store_true", help="hardly any training, one seed")
    parser.add_argument("--work", type=_path, default=WORK, help=f"results ({WORK})")
    parser.add_argument("--processes", type=_count, default=2, help="steps at a time (2)")
    return parser.parse_args()


def _path(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("the path is empty; give one")
    return Path(text)


def _unwritable(target: Path) -> str | None:
    """Why page and figure could not be written, in words; found out by writing a draft of each."""
    if not target.name:
        return f"{target} is a folder"
    figure = target.with_suffix(".svg")
    if figure == target:
        return f"{target} would be the figure and the page"
    try:
        for file in (target, figure):
            if file.exists() and not file.is_file():
                return f"{file} is no file"
            _draft(file).touch()
            _draft(file).unlink()
    except OSError as cause:
        return f"{target}: {cause.strerror}"
    return None


def _draft(file: Path) -> Path:
    return file.with_name(f"{file.name}.draft")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; give 1 or more")
    return int(text)


def _published(found: Landscape, target: Path) -> int:
    """Write page and figure, both drafts first; 7 where a disk failed, and no draft stays."""
    figure = target.with_suffix(".svg")
    made = {figure: page.drawing(found.lines), target: page.write(found, figure.name)}
    try:
        for file, text in made.items():
            _draft(file).write_text(text, encoding="utf-8")
        for file in made:
            _draft(file).replace(file)
    except OSError as cause:
        for file in made:
            _draft(file).unlink(missing_ok=True)
        _say(f"bench: {target} is not written: {cause.strerror}; all results are kept, run again")
        return 7
    _say(f"written: {target}, {figure}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
