"""The command line. Every command is thin: it finds the run, asks a part, prints, exits.

What only some commands need is imported inside them: `rsi status` must start in a moment.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rsi_master.app.home import Home
from rsi_master.core.action import Role
from rsi_master.interfaces import bases, reading, runs, terminal
from rsi_master.interfaces.failures import INTERRUPTED, failure
from rsi_master.interfaces.options import Json, RunName, RunOption, RunsFolder
from rsi_master.interfaces.runs import RUNS

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Develop a language model autonomously, and prove how it was reached. `rsi demo` shows "
    "a whole run. Exit codes: 0 ok, 1 a finding or no champion, 2 wrong use, 3 refused, 4 denied "
    "by the policy, 5 over budget, 6 sealed data, 7 infrastructure, 130 interrupted, 141 nobody "
    "reads the output.",
)
app.add_typer(bases.app, name="base")


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")] = False,
) -> None:
    """`main` reads `--debug` itself, since it is also the one that catches."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="The seed of the contract.")] = 0,
    folder: RunsFolder = RUNS,
    as_json: Json = False,
) -> int:
    """Run the built-in demonstration, which takes minutes."""
    from rsi_master.app import contracts  # noqa: PLC0415 - late: only runs need it
    from rsi_master.interfaces import launch  # noqa: PLC0415 - late: it loads the whole system

    home = Home.default()
    run_folder = launch.begin(contracts.demo(seed), "the demonstration", folder, home)
    return launch.work(run_folder, home, as_json)


@app.command()
def init(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the contract.")],
    out: Annotated[Path | None, typer.Option(help="Where to write; NAME.toml by default.")] = None,
    profile: Annotated[
        str, typer.Option(metavar="PROFILE", help="nano, or smollm2 after `rsi base add smollm2`.")
    ] = "nano",
    benchmark: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help='Your own questions: JSONL of {"prompt": …, "answer": …}.'
        ),
    ] = None,
) -> int:
    """Write a contract to start from; that of nano explains every key."""
    from rsi_master.interfaces import beginning  # noqa: PLC0415 - late: only runs need it

    path = out or Path(f"{name}.toml")
    wanted = beginning.Wanted(name, profile, benchmark)
    terminal.tell(beginning.write(path, wanted, Home.default()))
    return 0


@app.command()
def run(
    contract: Annotated[Path, typer.Argument(metavar="CONTRACT", help="A contract file (TOML).")],
    benchmark: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where its evaluator.items lie now.")
    ] = None,
    folder: RunsFolder = RUNS,
    as_json: Json = False,
) -> int:
    """Start a run under a contract and work until it is over."""
    from rsi_master.interfaces import launch  # noqa: PLC0415 - late: it loads the whole system

    home = Home.default()
    text = launch.contract_text(contract)
    run_folder = launch.begin(text, str(contract), folder, home, benchmark)
    return launch.work(run_folder, home, as_json)


@app.command()
def resume(name: RunName = None, folder: RunsFolder = RUNS, as_json: Json = False) -> int:
    """Go on with a run that was stopped half-way."""
    from rsi_master.interfaces import launch  # noqa: PLC0415 - late: it loads the whole system

    return launch.work(runs.find(name, folder), Home.default(), as_json)


app.command()(reading.status)
app.command()(reading.show)
app.command("try")(reading.try_)
app.command()(reading.graph)
app.command()(reading.report)
app.command()(reading.verify)


@app.command()
def doctor(folder: RunsFolder = RUNS, as_json: Json = False) -> int:
    """Say what this machine offers to a run."""
    from rsi_master.interfaces.doctor import examine  # noqa: PLC0415 - late: it loads adapters

    health = examine(Home.default(), folder)
    if as_json:
        terminal.answer(health.model_dump_json())
    else:
        terminal.tell(health.text())
    return 0 if health.ready else 3


@app.command(context_settings={"help_option_names": []})
def act(  # noqa: PLR0913 - one parameter for each option
    action: Annotated[str | None, typer.Argument(metavar="ACTION", help="Its name.")] = None,
    fields: Annotated[
        list[str] | None, typer.Argument(metavar="[FIELD=VALUE]...", help="Or - for stdin.")
    ] = None,
    text: Annotated[str | None, typer.Option("--json", help="All fields as JSON.")] = None,
    name: RunOption = None,
    person: Annotated[
        bool, typer.Option("--as-operator", help="Use the token of whoever started the run.")
    ] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the actions.")] = False,
    role: Annotated[Role | None, typer.Option(help="With --list: of that role.")] = None,
    explain: Annotated[bool, typer.Option("--help", help="Explain an action.")] = False,
) -> int:
    """Carry out any action by token; answers in JSON."""
    from rsi_master.interfaces import act as acting  # noqa: PLC0415 - late: it loads the catalogue

    if action is not None:
        acting.known(action)
    if action is None or listing or explain:
        terminal.tell(acting.explain(action) if action and explain else acting.usage(role))
        return 0
    given = acting.Words(fields or [], text).arguments(sys.stdin, acting.texts(action))
    answer = acting.submit(runs.find(name), Home.default(), action, given, person)
    terminal.answer(json.dumps(answer, ensure_ascii=False))
    return acting.exit_code(answer)


@app.command()
def token(
    name: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a part of its id.")],
    role: Annotated[Role, typer.Argument(metavar="ROLE", help="main, worker, reviewer, operator.")],
    node: Annotated[str | None, typer.Argument(metavar="NODE", help="w1, r1 …")] = None,
    folder: RunsFolder = RUNS,
) -> int:
    """Issue a lasting token of a role, as operator."""
    from rsi_master.interfaces.passes import issue  # noqa: PLC0415 - late: not every command reads

    terminal.tell(issue(runs.find(name, folder), Home.default(), role, node))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; every failure is one line and an exit code. The outermost boundary."""
    terminal.prepare()
    try:
        return _guarded(list(sys.argv[1:] if argv is None else argv))
    finally:
        terminal.settle()


def _guarded(words: list[str]) -> int:
    try:
        return _run([word for word in words if word != "--debug"])
    except terminal.Unread as gone:
        return gone.exit_code
    except (Exception, KeyboardInterrupt) as problem:
        if "--debug" in words:
            raise
        told = failure(problem)
    if next((word for word in words if not word.startswith("-")), "") == "act":
        with suppress(terminal.Unread, OSError):
            terminal.answer(json.dumps({"ok": False, **asdict(told)}, ensure_ascii=False))
    else:
        terminal.note(f"rsi: {told.code}: {told.message}")
    return told.exit


def _run(words: list[str]) -> int:
    try:
        code = typer.main.get_command(app).main(
            args=words or ["--help"], prog_name="rsi", standalone_mode=False
        )
    except SystemExit as left:  # that is how typer tells that nobody reads its help
        raise terminal.Unread("UNREAD", "nobody reads the output any more") from left
    if code == INTERRUPTED:  # that is how typer tells of Ctrl-C
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0
