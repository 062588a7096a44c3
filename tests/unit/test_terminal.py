"""The way out: what others wrote moves no terminal, readers may go away, and nothing goes past."""

import ast
import hashlib
import io
import json
import re
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel
from rich.console import ConsoleDimensions
from rich.text import Text

import rsi_master.interfaces
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.app.folder import RunFolder
from rsi_master.app.trial import Answers
from rsi_master.core.action import Caller, Role
from rsi_master.core.artifact import Row
from rsi_master.core.contract import parse
from rsi_master.core.event import Event, Fact
from rsi_master.core.facts import FACTS
from rsi_master.core.graph import ReviewRequested, ReviewSubmitted
from rsi_master.core.run import RunFinished
from rsi_master.core.state import State
from rsi_master.domains.data.pool import render
from rsi_master.interfaces import terminal, trial
from rsi_master.interfaces.board import Board
from rsi_master.interfaces.cli import main
from rsi_master.interfaces.narrate import narrate
from rsi_master.interfaces.progress import JsonLines, Plain, Progress, Screen
from rsi_master.interfaces.pulse import Pulse
from rsi_master.interfaces.terminal import Painted

GOLDEN = Path(__file__).parents[1] / "golden" / "dd84764"
CONTRACT = parse((GOLDEN / "contract.toml").read_text(encoding="utf-8"), "contract")
HOSTILE = "a\x1b]52;c;eA==\x07\x1b[2K\x1b[3J\x9b2J\u202e\u2066\r\nforged\u2028forged [bold]b[/bold]"
ROWS = render([Row(prompt=HOSTILE, completion=HOSTILE)])
DIGEST = f"sha256:{hashlib.sha256(ROWS).hexdigest()}"
NAMES: Mapping[str, object] = {
    "experiment": "a1",
    "init": "base",
    "merges": (),
    "data": (DIGEST,),
    "scope": ("w1",),
    "predecessors": (),
    "replicates": None,
    "parents": (),
    "job": "a1.t1",
}
"""What the record names by these fields; all other texts are free."""
OF_KIND: Mapping[type[BaseModel], Mapping[str, object]] = {
    RunFinished: {"outcome": "stopped", "champion": None},
    ReviewRequested: {"node": "r1"},
    ReviewSubmitted: {"node": "r1"},
}
FITTING = ("w1", DIGEST, "a-title")
OWN = re.compile(r"\x1b\[(?:[\d;]*m|\?25[hl]|1A|2K)|\r")
"""Colours and what the live board does to its own lines; none of these clears the screen."""


def hostile(kind: object) -> object:
    """A value of the type in which every free text is hostile."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return fitting(inner[1].metadata) if inner[0] is str else hostile(inner[0])
    if origin in (Union, UnionType):
        return hostile(next(one for one in inner if one is not NoneType))
    if origin is Literal:
        return inner[0]
    if origin is tuple:
        return (hostile(inner[0]),)
    if origin is dict:
        return {hostile(inner[0]): hostile(inner[1])}
    assert isinstance(kind, type), kind
    if issubclass(kind, BaseModel):
        return fields(kind)
    if issubclass(kind, Enum):
        return next(iter(kind))
    return {str: HOSTILE, object: HOSTILE, int: 1, float: 0.5, bool: False}[kind]


def fitting(metadata: list[Any]) -> str:
    """A hostile text, or one that fits where not every one does."""
    patterns = [one.pattern for one in metadata if hasattr(one, "pattern")]
    return next(t for t in FITTING if re.match(patterns[0], t)) if patterns else HOSTILE


def fields(kind: type[BaseModel]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, field in kind.model_fields.items():
        if name in NAMES:
            found[name] = NAMES[name]
        elif field.annotation is str:
            found[name] = fitting(field.metadata)
        else:
            found[name] = hostile(field.annotation)
    return {**found, **OF_KIND.get(kind, {})}


def story() -> list[Event]:
    """An event of every type."""
    main_ = Caller(role=Role.MAIN, node="main", actor=HOSTILE)
    facts: list[Fact] = [kind.model_validate(fields(kind)) for kind in FACTS]
    return [
        Event(position=at, id=f"e{at:04}", at=1.0 + at, contract=DIGEST, caller=main_, fact=fact)
        for at, fact in enumerate(facts)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """A run whose record is that story."""
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    found = RunFolder(tmp_path / "run")
    found.path.mkdir()
    for name in ("contract.toml", "run.id", "verifier.key"):
        (found.path / name).write_bytes((GOLDEN / name).read_bytes())
    assert FolderObjects(found.objects).put_bytes("dataset", ROWS).digest == DIGEST
    store = SqliteEvents(found.ledger)
    store.append([event.to_bytes() for event in story()])
    store.close()
    return found


def inert(text: str) -> str:
    """The text, in which every letter shows and no line is one that others wrote."""
    odd = sorted({letter for letter in text if not letter.isprintable() and letter != "\n"})
    assert odd == [], text
    assert not re.search("^forged", text, re.MULTILINE)
    return text


def test_texts_of_the_record_are_inert_as_they_are_told() -> None:
    stream, lines = io.StringIO(), io.StringIO()
    for display in (Plain(stream), JsonLines(lines)):
        with Progress(display, CONTRACT, start=0) as progress:
            for event in story():
                progress(event)
    assert "]52;c;eA==" in inert(stream.getvalue())
    told = [json.loads(one) for one in inert(lines.getvalue()).splitlines()]
    assert told == [json.loads(event.to_bytes()) for event in story()], "of the same value"


def test_texts_of_the_record_are_inert_on_the_live_board(tmp_path: Path) -> None:
    file, now = io.StringIO(), State.under(CONTRACT)
    screen = Screen(
        Painted(file, width=90, height=40, force_terminal=True), "n", CONTRACT, Pulse(tmp_path)
    )
    for event in story():
        now.apply(event)
        screen.show(event, narrate(event, now))
        screen.refresh(now)
        board = Board("n", CONTRACT, now, 99.0, Pulse(tmp_path))
        wide, high = Painted(io.StringIO(), 90), ConsoleDimensions(90, 40)
        for row in wide.render_lines(board.render(high)):
            inert("".join(part.text for part in row))
    screen.close()
    assert "]52;c;eA==" in inert(OWN.sub("", file.getvalue()))


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_texts_of_the_record_are_inert_to_readers(
    folder: RunFolder, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    run = str(folder.path)
    things = [f"@{at}" for at in range(len(FACTS))]
    things += ["w1", "r1", "a1", "main", "claim", "contract", DIGEST]
    commands = [["show", thing, "--run", run] for thing in things]
    for command in [["status", run], ["graph", run], ["verify", run], *commands]:
        assert main([*command, *options]) == (1 if command[0] == "verify" else 0), command
        told = inert(capsys.readouterr().out)
        if options:
            assert isinstance(json.loads(told), dict)
    assert main(["graph", run, "--dot"]) == 0
    inert(capsys.readouterr().out)


@pytest.mark.parametrize("as_json", [False, True])
def test_what_a_model_says_is_inert(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    class Asked:
        def ask(self, prompt: str) -> Answers:
            return Answers(prompt, base=HOSTILE, checkpoint="\u200b\n")

    printer = trial._Printer(Asked(), "champion", "a1", as_json)  # type: ignore[arg-type]
    assert printer.all([trial.Question(HOSTILE, HOSTILE)]) == 0
    told = inert(capsys.readouterr().out)
    if as_json:
        assert json.loads(told)["base"] == HOSTILE
    else:
        assert "champion  (nothing)" in told.splitlines()


def test_a_failure_tells_foreign_words_on_one_inert_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for words in (["status", HOSTILE], [HOSTILE], ["status", f"--{HOSTILE}"]):
        assert main(words) == 2
        told = inert(capsys.readouterr().err)
        assert told.count("\n") == 1
    assert main(["act", HOSTILE]) == 2
    assert HOSTILE[-4:] in json.loads(inert(capsys.readouterr().out))["message"]


def test_drawings_keep_their_colours_and_take_no_markup() -> None:
    file = io.StringIO()
    Painted(file, 80, force_terminal=True).print(Text("a\x1b[3Jb", "bold"), "[red]c")
    assert file.getvalue() == "\x1b[1ma [3Jb\x1b[0m [red]c\n"


def test_nothing_goes_past_the_way_out() -> None:
    folder = Path(rsi_master.interfaces.__file__).parent
    past: list[str] = []
    for path in sorted(folder.rglob("*.py")):
        if path == Path(terminal.__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute | ast.Name):
                word = ast.unparse(node)
                if re.fullmatch(r"typer\.s?echo|print|Console|sys\.(stdout|stderr)", word):
                    past.append(f"{path.name}: {word}")
    assert set(past) <= {"launch.py: sys.stdout"}, "a display takes it, and writes by `put`"
