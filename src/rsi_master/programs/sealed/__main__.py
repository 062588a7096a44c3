"""`python -I -m rsi_master.programs.sealed seal|survey|serve`: make a sealed set, say what a file
of questions holds, or serve a set."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, get_args

from rsi_master.core.canonical import digest
from rsi_master.core.errors import Misuse, Refused, RsiError
from rsi_master.core.score import Drawn
from rsi_master.programs.sealed.benchmark import find
from rsi_master.programs.sealed.own import file
from rsi_master.programs.sealed.own.survey import survey
from rsi_master.programs.sealed.serve import serve
from rsi_master.programs.sealed.vault import read_base, seal


def main() -> int:
    """Parse the command line; the exit status is that of the documented table."""
    asked = _parser().parse_args()
    try:
        return _COMMANDS[asked.command](asked)
    except RsiError as error:
        sys.stderr.write(json.dumps({"code": error.code, "message": error.message}) + "\n")
        return error.exit_code


def _seal(asked: argparse.Namespace) -> int:
    base = read_base(asked.base)
    given = None if asked.items is None else _named(asked.items, asked.digest)
    made = seal(
        find(asked.benchmark, base, given),
        base,
        _counts(asked.counts),
        asked.home,
        openings=asked.openings,
    )
    sys.stdout.write(json.dumps({"set": made.name}) + "\n")
    return 0


def _survey(asked: argparse.Namespace) -> int:
    found = survey(file.read(asked.items), read_base(asked.base))
    sys.stdout.write(found.model_dump_json() + "\n")
    return 0


def _serve(asked: argparse.Namespace) -> int:
    return serve(asked.set, asked.base)


_COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], int]]] = {
    "seal": _seal,
    "survey": _survey,
    "serve": _serve,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rsi_master.programs.sealed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    sealing = commands.add_parser("seal", help="draw items and write a sealed set")
    sealing.add_argument("--benchmark", required=True)
    sealing.add_argument("--base", type=Path, required=True, help="folder of the pinned base")
    sealing.add_argument("--home", type=Path, required=True, help="the set goes to HOME/sealed")
    sealing.add_argument("--counts", required=True, help="items a task: dev=60,confirm=80,...")
    sealing.add_argument("--openings", type=int, default=1, help="how often the holdout may open")
    sealing.add_argument("--items", type=Path, help="file of the questions")
    sealing.add_argument("--digest", help="digest of that file")
    looking = commands.add_parser("survey", help="say what a file of questions holds")
    looking.add_argument("--base", type=Path, required=True, help="folder of the pinned base")
    looking.add_argument("--items", type=Path, required=True, help="file of the questions")
    serving = commands.add_parser("serve", help="serve a set over the socket on standard input")
    serving.add_argument("--set", type=Path, required=True)
    serving.add_argument("--base", type=Path, required=True, help="folder of the pinned base")
    return parser


def _named(path: Path, named: str | None) -> bytes:
    """The bytes of the file that the contract names by digest; raises Refused for others."""
    data = file.read(path)
    found = digest(data)
    if found != named:
        raise Refused(
            "BENCHMARK_FILE_DIFFERS",
            f"{path} has digest {found}, evaluator.items of the contract is {named}: it was "
            "changed since the contract was written; put it back, or write a new contract by "
            "`rsi init NAME --benchmark FILE`",
        )
    return data


def _counts(text: str) -> dict[Drawn, int]:
    pairs = dict(part.partition("=")[::2] for part in text.split(","))
    known: tuple[Drawn, ...] = get_args(Drawn)
    counts = {split: int(pairs[split]) for split in known if pairs.get(split, "").isdecimal()}
    if len(counts) != len(pairs):
        raise Misuse("BAD_COUNTS", f"--counts {text}: wanted {'=N,'.join(known)}=N")
    return counts


if __name__ == "__main__":
    sys.exit(main())
