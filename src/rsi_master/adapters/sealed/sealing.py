"""Has a new set sealed, or a file of questions looked at: by a process, because the owner must not
hold what it draws."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rsi_master.adapters.sealed.link import ENVIRONMENT, PROGRAM
from rsi_master.core.errors import Broken, Misuse, Refused, RsiError, SealUnavailable
from rsi_master.core.score import Drawn
from rsi_master.core.sealed_wire import Survey

SECONDS = 300.0
_BAD_FILE = "BENCHMARK_FILE"


@dataclass(frozen=True)
class Items:
    """The file of questions that a contract names by its digest."""

    path: Path
    digest: str


def seal(
    benchmark: str,
    base: Path,
    home: Path,
    counts: Mapping[Drawn, int],
    *,
    items: Items | None = None,
    openings: int = 1,
) -> Path:
    """Draw `counts[split]` items of each task and return the folder `home/sealed/<set>`.

    Raises SealUnavailable with the reason of the process, Broken when the disk fails, and Refused
    or Misuse for a file of questions that is not as the contract says or cannot be used.
    """
    asked = ",".join(f"{split}={count}" for split, count in counts.items())
    words = ["seal", "--benchmark", benchmark, "--counts", asked, "--openings", str(openings)]
    words += ["--base", str(base.absolute()), "--home", str(home.absolute())]
    if items is not None:
        words += ["--items", str(items.path.absolute()), "--digest", items.digest]
    try:
        answer = _answer(words, f"sealing {benchmark}")
    except Misuse as problem:
        raise _of_file(problem, items.path if items else None) from problem
    name: str = json.loads(answer)["set"]
    return home / "sealed" / name


def survey(path: Path, base: Path) -> Survey:
    """What the file of questions at `path` holds for that base; raises Misuse where it cannot be
    used."""
    words = ["survey", "--items", str(path.absolute()), "--base", str(base.absolute())]
    try:
        return Survey.model_validate_json(_answer(words, f"reading {path}"))
    except Misuse as problem:
        raise _of_file(problem, path) from problem


def _answer(words: Sequence[str], doing: str) -> str:
    """What the program says; raises its reason."""
    try:
        ended = subprocess.run(
            [sys.executable, "-I", "-m", PROGRAM, *words],
            env=ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise SealUnavailable("SEAL_FAILED", f"{doing} took over {SECONDS} s") from cause
    if ended.returncode != 0:
        raise _failure(doing, ended.returncode, ended.stderr)
    return ended.stdout


def _failure(doing: str, status: int, errors: str) -> RsiError:
    """The reason of the program if its last line is one; its own errors keep their kind."""
    last = errors.strip().rsplit("\n", 1)[-1]
    try:
        told = json.loads(last)
        code, message = str(told["code"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        return SealUnavailable("SEAL_FAILED", f"{doing}: {last[:300]}")
    if status == Misuse.exit_code:
        return Misuse(code, message)
    if status == Refused.exit_code:
        return Refused(code, message)
    if status == Broken.exit_code:
        return Broken(code, message)
    return SealUnavailable("SEAL_FAILED", f"{doing}: {message}")


def _of_file(problem: Misuse, path: Path | None) -> Misuse:
    """The problem with the name of the file before it."""
    if problem.code != _BAD_FILE or path is None:
        return problem
    return Misuse(problem.code, f"{path}: {problem.message}")
