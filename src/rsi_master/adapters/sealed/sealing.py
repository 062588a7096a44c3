"""Has a new set sealed: by a process, because the owner must not hold what it draws."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from rsi_master.adapters.sealed.link import ENVIRONMENT, PROGRAM
from rsi_master.core.errors import SealUnavailable
from rsi_master.core.score import Drawn

SECONDS = 300.0


def seal(
    benchmark: str,
    base: Path,
    home: Path,
    counts: Mapping[Drawn, int],
    *,
    openings: int = 1,
    python: str = sys.executable,
) -> Path:
    """Draw `counts[split]` items of each task and return the folder `home/sealed/<set>`.

    Raises SealUnavailable with the reason of the process.
    """
    asked = ",".join(f"{split}={count}" for split, count in counts.items())
    command = [python, "-I", "-m", PROGRAM, "seal", "--benchmark", benchmark, "--counts", asked]
    command += ["--base", str(base.absolute()), "--home", str(home.absolute())]
    try:
        ended = subprocess.run(
            [*command, "--openings", str(openings)],
            env=ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise SealUnavailable(
            "SEAL_FAILED", f"sealing {benchmark} took over {SECONDS} s"
        ) from cause
    if ended.returncode != 0:
        raise SealUnavailable("SEAL_FAILED", f"sealing {benchmark}: {_reason(ended.stderr)}")
    name: str = json.loads(ended.stdout)["set"]
    return home / "sealed" / name


def _reason(errors: str) -> str:
    last = errors.strip().rsplit("\n", 1)[-1]
    try:
        message: str = json.loads(last)["message"]
    except (ValueError, KeyError, TypeError):
        return last[:300]
    return message
