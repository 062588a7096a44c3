"""Carries out what is missing of the table and writes the page and its figure.

python -m bench.nano docs/nano.md                  everything; about a core-hour
python -m bench.nano docs/nano.md --only lineages  a part, to the screen: the page stays as it is
python -m bench.nano docs/nano.md --quick          the shape of it in minutes, to the screen
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Final

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
    """Run; 1 where a step failed, 2 where nothing is asked for."""
    asked = _arguments()
    os.environ.update(ONE_THREAD)
    for word in asked.only:
        if not any(table().only((word,)).nodes()):
            _say(f"bench: no part of the table is named {word!r}; see bench/nano/table.py")
            return 2
    wanted = table().only(tuple(asked.only))
    wanted = wanted.quick() if asked.quick else wanted
    context = material.context(QUICK_ITEMS if asked.quick else ITEMS)
    bench = plan.Bench(asked.work.absolute(), context)
    try:
        failures = plan.carry_out(bench, wanted.nodes(), asked.processes, _say)
    except (plan.Busy, FileExistsError, NotADirectoryError) as cause:
        _say(str(cause) if isinstance(cause, plan.Busy) else f"bench: --work: {cause}")
        return 2
    for failure in failures:
        _say(failure)
    found = Landscape(wanted, bench)
    whole = not (asked.only or asked.quick)
    if whole and not failures:
        _publish(found, asked.page)
    else:
        print(page.write(found, asked.page.with_suffix(".svg").name))
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.nano",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("page", type=Path, help="the page; its figure gets the same name in .svg")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="parts by name")
    parser.add_argument("--quick", action="store_true", help="hardly any training, one seed")
    parser.add_argument("--work", type=Path, default=WORK, help=f"results ({WORK})")
    parser.add_argument("--processes", type=_count, default=2, help="steps at a time (2)")
    return parser.parse_args()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; give 1 or more")
    return int(text)


def _publish(found: Landscape, target: Path) -> None:
    figure = target.with_suffix(".svg")
    made = {figure: page.drawing(found.lines), target: page.write(found, figure.name)}
    for file, text in made.items():
        draft = file.with_name(f"{file.name}.draft")
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
    _say(f"written: {target}, {figure}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
