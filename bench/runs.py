"""Runs of the command line as a person starts them, in an installation of their own."""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record, read
from rsi_master.core.run import RunFinished, RunOpened


@dataclass(frozen=True)
class Told:
    """What a run printed, and its record."""

    story: str
    record: Record


def carry_out(words: Sequence[str], folder: Path) -> Told:
    """Run `rsi` with the words and a folder for its runs; raises SystemExit where it fails."""
    runs = folder / "runs"
    done = subprocess.run(
        [sys.executable, "-m", "rsi_master", *words, "--runs", str(runs)],
        env={**os.environ, "RSI_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"rsi {' '.join(words)} ended with {done.returncode}:\n{done.stderr}")
    (run,) = runs.iterdir()
    return Told(done.stdout.replace(str(runs), "runs").strip("\n"), read(RunFolder(run)))


def seconds(record: Record) -> float:
    """On the clock, from the opening of the run to its end."""
    opened = next(e.at for e in record.events if isinstance(e.fact, RunOpened))
    return next(e.at for e in record.events if isinstance(e.fact, RunFinished)) - opened


def machine() -> str:
    """What the times of a page belong to."""
    return f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
