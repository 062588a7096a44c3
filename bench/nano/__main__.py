"""Carries out what is missing of the table and writes the page and its figure.

python -m bench.nano docs/nano.md                  everything; about a core-hour
python -m bench.nano docs/nano.md --only lineages  a part, to the screen: the page stays as it is
python -m bench.nano docs/nano.md --quick          the shape of it in minutes, to the screen
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final, NoReturn

from bench.nano import material, page, plan
from bench.nano.landscape import Landscape
from bench.nano.table import table

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
    """Run; 1 where a step failed, 2 for wrong use, 7 where a disk failed."""
    asked = _arguments()
    os.environ.update(ONE_THREAD)
    for word in asked.only:
        if not word.strip() or not any(table().only((word,)).nodes()):
            _say(f"bench: no part of the table is named {word!r}; see bench/nano/table.py")
            return 2
    wrong = _unwritable(asked.page)
    if wrong:
        _say(f"bench: {wrong}; name a page that can be written")
        return 2
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
    for failure in failures:
        _say(failure)
    found = Landscape(wanted, bench)
    whole = not (asked.only or asked.quick)
    if whole and not failures:
        _publish(found, asked.page)
    else:
        print(page.write(found, asked.page.with_suffix(".svg").name))
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


def _publish(found: Landscape, target: Path) -> None:
    figure = target.with_suffix(".svg")
    made = {figure: page.drawing(found.lines), target: page.write(found, figure.name)}
    for file, text in made.items():
        draft = _draft(file)
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    _say(f"written: {target}, {figure}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
