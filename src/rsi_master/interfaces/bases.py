"""`rsi base`: base models that are prepared once into the installation's folder."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from rsi_master.app.home import Home
from rsi_master.interfaces import terminal

app = typer.Typer(help="Prepare a base model that is too large to be part of the package.")


@app.callback()
def _group() -> None:
    """Keeps `add` a word of its own while it is the only command."""


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The base, as contracts name it.")],
    as_json: Annotated[bool, typer.Option("--json", help="JSON for programs.")] = False,
) -> int:
    """Prepare a base, or check the one that is there."""
    from rsi_master.app import bases  # noqa: PLC0415 - late: not every command prepares
    from rsi_master.interfaces import words  # noqa: PLC0415 - late

    home = Home.default()
    if not as_json:
        only = bases.there(name, home)
        doing = (
            f"checking base {name}" if only else f"preparing base {name}, which may take minutes"
        )
        terminal.note(doing)
    with _stoppable(name):
        added = bases.add(name, home)
    if as_json:
        answer = {"base": name, "folder": str(added.folder), "digest": added.digest}
        terminal.answer(json.dumps({**answer, "new": added.new}, ensure_ascii=False))
    else:
        told = "added" if added.new else "was there, its files are as recorded:"
        terminal.tell(f"{told} {words.shown(added.folder)}\ndigest {added.digest}")
    return 0


@contextmanager
def _stoppable(name: str) -> Iterator[None]:
    """SIGTERM stops like Ctrl-C, so that what was begun is removed; a terminal that closes too, but
    not under `nohup`."""
    asked = [s for s in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) != signal.SIG_IGN]
    before = {s: signal.signal(s, signal.default_int_handler) for s in asked}
    try:
        yield
    except KeyboardInterrupt as cause:
        from rsi_master.app.owner import Interrupted  # noqa: PLC0415 - late: it loads everything

        told = f"stopped, nothing was added; run `rsi base add {name}` again"
        raise Interrupted("INTERRUPTED", told) from cause
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
