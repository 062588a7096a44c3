"""Starting and resuming a run from the command line, with its progress and its end."""

import sys
from contextlib import suppress
from pathlib import Path

from rsi_master.app import start
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import follow, read
from rsi_master.core.errors import Misuse
from rsi_master.interfaces import ending, terminal, words
from rsi_master.interfaces.progress import Display, JsonLines, Plain, Progress, Screen
from rsi_master.interfaces.pulse import Pulse


def begin(
    text: str, origin: str, parent: Path, home: Home, questions: Path | None = None
) -> RunFolder:
    """A new run under that contract; says where its folder is."""
    folder = start.create(text, origin, parent, home, questions)
    terminal.note(f"run folder: {words.shown(folder.path)}")
    return folder


def work(folder: RunFolder, home: Home, as_json: bool) -> int:
    """Own the run until it is over and print its end, whether or not anybody reads on. The exit
    code: 1 without a champion."""
    contract = folder.contract()
    recorded = sum(1 for _ in follow(folder)) if folder.ledger.is_file() else 0
    with Progress(_display(folder, as_json), contract, recorded) as progress:
        finished = start.run(folder, home, start.Setting(followers=(progress,)))
    end = ending.ending(read(folder))
    with suppress(terminal.Unread):
        if as_json:
            terminal.answer(end.model_dump_json())
        else:
            terminal.tell("\n" + ending.text(end))
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
    if as_json:
        return JsonLines(sys.stdout)
    console = terminal.Painted()
    if console.is_terminal:
        return Screen(console, folder.path.name, folder.contract(), Pulse(folder.spool))
    return Plain(sys.stdout)
