"""Starting and resuming a run from the command line, with its progress and its end."""

import io
import sys
from pathlib import Path

import typer
from rich.console import Console

from rsi_master.app import start
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import follow, read
from rsi_master.core.errors import Misuse
from rsi_master.interfaces import ending, words
from rsi_master.interfaces.progress import Display, JsonLines, Plain, Progress, Screen
from rsi_master.interfaces.pulse import Pulse


def begin(
    text: str, origin: str, parent: Path, home: Home, questions: Path | None = None
) -> RunFolder:
    """A new run under that contract; says where its folder is."""
    folder = start.create(text, origin, parent, home, questions)
    typer.echo(f"run folder: {words.shown(folder.path)}", err=True)
    return folder


def work(folder: RunFolder, home: Home, as_json: bool) -> int:
    """Own the run until it is over and print its end. The exit code: 1 without a champion."""
    contract = folder.contract()
    recorded = sum(1 for _ in follow(folder)) if folder.ledger.is_file() else 0
    with Progress(_display(folder, as_json), contract, recorded) as progress:
        finished = start.run(folder, home, start.Setting(followers=(progress,)))
    end = ending.ending(read(folder))
    typer.echo(end.model_dump_json() if as_json else "\n" + ending.text(end))
    return 0 if finished.outcome == "champion" else 1


def contract_text(path: Path) -> str:
    """The text of a contract file; raises Misuse."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as cause:
        why = cause.strerror or type(cause).__name__
    except UnicodeDecodeError:
        why = "it is not UTF-8 text"
    raise Misuse("NO_CONTRACT", f"{path} cannot be read: {why}; `rsi init NAME` writes a contract")


def _display(folder: RunFolder, as_json: bool) -> Display:
    if isinstance(sys.stdout, io.TextIOWrapper):  # a letter that a terminal lacks is no failure
        sys.stdout.reconfigure(errors="replace")
    if as_json:
        return JsonLines(sys.stdout)
    console = Console()
    if console.is_terminal:
        return Screen(console, folder.path.name, folder.contract(), Pulse(folder.spool))
    return Plain(sys.stdout)
