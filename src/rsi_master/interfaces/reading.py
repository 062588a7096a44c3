"""The commands that read a run, also while somebody works on it: none of them writes its record.

What only some of them need is imported inside them: `rsi status` must start in a moment.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from rsi_master.app.home import Home
from rsi_master.interfaces import runs, terminal
from rsi_master.interfaces.options import Json, RunName, RunOption, RunsFolder
from rsi_master.interfaces.runs import RUNS

REPORTS = Path("reports")


def status(name: RunName = None, folder: RunsFolder = RUNS, as_json: Json = False) -> int:
    """Show where a run stands, also while it works."""
    from rsi_master.app.reader import read  # noqa: PLC0415 - late: not every command reads
    from rsi_master.interfaces.status import Glance  # noqa: PLC0415 - late

    glance = Glance(read(runs.find(name, folder)), Home.default())
    if as_json:
        terminal.answer(glance.status().model_dump_json())
    else:
        glance.show()
    return 0


def show(
    thing: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="An id or a part of it; @N an event; main, champion, claim or contract.",
        ),
    ],
    name: RunOption = None,
    folder: RunsFolder = RUNS,
    out: Annotated[
        Path | None,
        typer.Option(help="Lay its bytes there: an artifact, or the checkpoint of an experiment."),
    ] = None,
    as_json: Json = False,
) -> int:
    """Show one recorded thing in full, or take it out."""
    from rsi_master.app.reader import read  # noqa: PLC0415 - late: not every command reads
    from rsi_master.interfaces import lookup, stored  # noqa: PLC0415 - late
    from rsi_master.interfaces.show import sheet  # noqa: PLC0415 - late

    record = read(runs.find(name, folder))
    meant = lookup.find(record, thing)
    if out is not None:
        digest = stored.lay_out(record, meant, out)
        answer = {"digest": digest, "out": str(out)}
        if as_json:
            terminal.answer(json.dumps(answer))
        else:
            terminal.tell(f"laid {digest} out at {out}")
        return 0
    found = sheet(record, meant)
    if as_json:
        terminal.answer(found.json())
    else:
        terminal.tell(found.text())
    return 0


def try_(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a part of its id.")],
    prompts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROMPT", help="Else lines of stdin: a prompt, or JSON with one; else data."
        ),
    ] = None,
    experiment: Annotated[
        str, typer.Option(metavar="ID", help="Whose checkpoint answers: its id, or champion.")
    ] = "champion",
    tokens: Annotated[
        int, typer.Option(min=1, max=4096, help="Tokens that an answer may have.")
    ] = 128,
    folder: RunsFolder = RUNS,
    as_json: Json = False,
) -> int:
    """Ask base and champion side by side, decoded as the evaluator does it."""
    from rsi_master.app.reader import read  # noqa: PLC0415 - late: not every command reads
    from rsi_master.interfaces import trial  # noqa: PLC0415 - late

    wanted = trial.Wanted(prompts or [], experiment, tokens, as_json)
    return trial.compare(read(runs.find(name, folder)), wanted, sys.stdin)


def graph(
    name: RunName = None,
    folder: RunsFolder = RUNS,
    as_json: Json = False,
    as_dot: Annotated[bool, typer.Option("--dot", help="For Graphviz.")] = False,
) -> int:
    """Show who tried what, and the way to the champion."""
    from rsi_master.app.reader import read  # noqa: PLC0415 - late: not every command reads
    from rsi_master.interfaces import tree  # noqa: PLC0415 - late

    record = read(runs.find(name, folder))
    if as_json:
        terminal.answer(tree.graph(record).model_dump_json())
    elif as_dot:
        terminal.tell(tree.dot(tree.graph(record)))
    else:
        terminal.show(tree.tree(record))
    return 0


def report(
    name: RunName = None,
    folder: RunsFolder = RUNS,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where its files go, over those of before.")
    ] = REPORTS,
    with_markdown: Annotated[
        bool, typer.Option("--markdown", help="Write a Markdown twin of the page too.")
    ] = False,
) -> int:
    """Write a run's report as one page to read anywhere."""
    from rsi_master.interfaces import words  # noqa: PLC0415 - late: not every command reads
    from rsi_master.interfaces.report.compose import write  # noqa: PLC0415 - late
    from rsi_master.interfaces.report.subject import Subject  # noqa: PLC0415 - late

    subject = Subject.of(runs.find(name, folder), Home.default())
    for path in write(subject, out, with_markdown):
        terminal.tell(f"wrote {words.shown(path)}")
    return 0


def verify(
    name: RunName = None,
    folder: RunsFolder = RUNS,
    key: Annotated[Path | None, typer.Option(help="The public key you trust.")] = None,
    note: Annotated[list[Path] | None, typer.Option(help="A signed head that you hold.")] = None,
    as_json: Json = False,
) -> int:
    """Check a record against its signed heads."""
    from rsi_master.app.reader import check, trust  # noqa: PLC0415 - late: not every command reads
    from rsi_master.interfaces import verdict  # noqa: PLC0415 - late

    run_folder = runs.find(name, folder)
    report = check(run_folder, key, tuple(note or ()), Home.default())
    tier = verdict.tier_of(run_folder)
    keyed = trust(run_folder, Home.default(), key)
    if as_json:
        data = {**report.model_dump(mode="json"), "sound": report.sound, "tier": tier, "key": keyed}
        terminal.answer(json.dumps(data, ensure_ascii=False))
    else:
        terminal.tell(verdict.text(report, tier, keyed))
    return 0 if report.sound else 1
