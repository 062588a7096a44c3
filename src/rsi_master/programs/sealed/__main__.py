"""`python -I -m rsi_master.programs.sealed seal|serve`: make a sealed set, or serve one."""

import argparse
import json
import sys
from pathlib import Path
from typing import get_args

from rsi_master.core.errors import Misuse, RsiError
from rsi_master.core.score import Drawn
from rsi_master.programs.sealed.benchmark import find
from rsi_master.programs.sealed.serve import serve
from rsi_master.programs.sealed.vault import read_base, seal


def main() -> int:
    """Parse the command line; the exit status is that of the documented table."""
    asked = _parser().parse_args()
    try:
        if asked.command == "serve":
            return serve(asked.set, asked.base)
        made = seal(
            find(asked.benchmark),
            read_base(asked.base),
            _counts(asked.counts),
            asked.home,
            openings=asked.openings,
        )
    except RsiError as error:
        sys.stderr.write(json.dumps({"code": error.code, "message": error.message}) + "\n")
        return error.exit_code
    sys.stdout.write(json.dumps({"set": made.name}) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rsi_master.programs.sealed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    sealing = commands.add_parser("seal", help="draw items and write a sealed set")
    sealing.add_argument("--benchmark", required=True)
    sealing.add_argument("--base", type=Path, required=True, help="folder of the pinned base")
    sealing.add_argument("--home", type=Path, required=True, help="the set goes to HOME/sealed")
    sealing.add_argument("--counts", required=True, help="items a task: dev=60,confirm=80,...")
    sealing.add_argument("--openings", type=int, default=1, help="how often the holdout may open")
    serving = commands.add_parser("serve", help="serve a set over the socket on standard input")
    serving.add_argument("--set", type=Path, required=True)
    serving.add_argument("--base", type=Path, required=True, help="folder of the pinned base")
    return parser


def _counts(text: str) -> dict[Drawn, int]:
    pairs = dict(part.partition("=")[::2] for part in text.split(","))
    known: tuple[Drawn, ...] = get_args(Drawn)
    counts = {split: int(pairs[split]) for split in known if pairs.get(split, "").isdecimal()}
    if len(counts) != len(pairs):
        raise Misuse("BAD_COUNTS", f"--counts {text}: wanted {'=N,'.join(known)}=N")
    return counts


if __name__ == "__main__":
    sys.exit(main())
