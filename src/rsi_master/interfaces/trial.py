"""`rsi try`: base and champion, or any checkpoint of the run, answer the same prompts."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TextIO

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app import trial
from rsi_master.app.reader import Record
from rsi_master.app.trial import Answers, Trial
from rsi_master.core.artifact import AnyRow
from rsi_master.core.errors import Finding, Misuse
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.domains.data.pool import parse
from rsi_master.interfaces import lookup, terminal, words

CHAMPION: Final = "champion"
EXAMPLES: Final = 4
ASKING: Final = "prompt> "


@dataclass(frozen=True)
class Wanted:
    """Prompts that were given, whose checkpoint answers, how long an answer may be, and the form of
    the output."""

    prompts: Sequence[str]
    experiment: str
    tokens: int
    as_json: bool


@dataclass(frozen=True)
class Question:
    """A prompt, and what the data of the run say to it."""

    prompt: str
    data: str = ""


def compare(record: Record, wanted: Wanted, stdin: TextIO) -> int:
    """Ask both and print; the exit code: 2 where a prompt could not be asked.

    Without prompts those of standard input are taken, a line each, and without any the first ones
    of the record. At a terminal it goes on asking.
    """
    experiment = _experiment(record, wanted.experiment)
    name = CHAMPION if wanted.experiment == CHAMPION else words.short(experiment.id)
    with trial.opened(record, experiment, wanted.tokens) as asked:
        printer = _Printer(asked, name, experiment.id, wanted.as_json)
        given = list(wanted.prompts) or _piped(stdin)
        if given:
            return printer.all(map(Question, given))
        rows = examples(record)
        if not rows and not stdin.isatty():
            raise Misuse("NO_PROMPT", "this run has no data to ask for; give a PROMPT")
        if rows and not wanted.as_json:
            of = words.count(len(rows), "prompt")
            terminal.tell(f"{of} of the data that this run could use:\n")
        code = printer.all(Question(row.prompt, "".join(row.answers()[:1])) for row in rows)
        if not stdin.isatty():
            return code
        return max(code, printer.all(map(Question, _typed("" if wanted.as_json else ASKING))))


def examples(record: Record) -> list[AnyRow]:
    """Some open rows of the record, of each dataset in turn, whose prompts differ: no sealed item
    is among them, because a dataset has an id only after the scan."""
    found: dict[str, AnyRow] = {}
    for row in _rows(record):
        found.setdefault(row.prompt, row)
        if len(found) == EXAMPLES:
            break
    return list(found.values())


def _rows(record: Record) -> Iterator[AnyRow]:
    """Rows apart from each other: the first of each dataset, then those in their middle …"""
    objects = FolderObjects(record.folder.objects)
    stored = [
        (fact.rows, data)
        for digest, fact in record.state.datasets.items()
        if (data := _bytes(objects, digest)) is not None
    ]
    for part in range(EXAMPLES):
        for rows, data in stored:
            yield from parse(data, rows * part // EXAMPLES, 1)


def _bytes(objects: FolderObjects, digest: str) -> bytes | None:
    """The bytes of a dataset; None where they are gone, since others serve as well."""
    try:
        return objects.get_bytes(digest)
    except Finding:
        return None


def _experiment(record: Record, named: str) -> Experiment:
    finished = record.state.finished
    if named == CHAMPION and (finished is None or finished.champion is None):
        yet = "" if finished else " yet"
        raise Finding(
            "NO_CHAMPION",
            f"run {record.folder.id} has no champion{yet}; name a checkpoint by --experiment ID, "
            "`rsi graph` lists them",
        )
    thing = lookup.find(record, named)
    found = record.state.experiments.get(thing.id)
    if thing.kind != "experiment" or found is None or found.id == BASE:
        raise Misuse(
            "NO_EXPERIMENT",
            f"{named!r} names {thing.kind} {words.short(thing.id)}; name an experiment, "
            "`rsi graph` lists them",
        )
    return found


def _piped(stdin: TextIO) -> list[str]:
    """The prompts of an input that is no terminal."""
    if stdin.isatty():
        return []
    try:
        return [_prompt(line) for line in stdin if line.strip()]
    except UnicodeDecodeError as cause:
        raise Misuse("NOT_TEXT", f"standard input is not UTF-8 text: {cause.reason}") from cause


def _prompt(line: str) -> str:
    r"""The prompt of a line: `prompt` of a JSON object, else the line, in which `\n` breaks it."""
    bare = line.rstrip("\r\n")
    if bare.startswith("{"):
        try:
            prompt = json.loads(bare, parse_int=float)["prompt"]
        except (ValueError, KeyError, RecursionError):
            prompt = None
        if isinstance(prompt, str):
            return prompt
    return bare.replace("\\n", "\n")


def _typed(asking: str) -> Iterator[str]:
    """Prompts from the terminal until its end of input."""
    terminal.note("Your prompts, one a line, \\n for a line break; Ctrl-D ends.")
    while True:
        try:
            line = input(asking)
        except EOFError:
            terminal.note()
            return
        if line.strip():
            yield _prompt(line)


@dataclass(frozen=True)
class _Printer:
    """Asks prompt after prompt and prints as it goes."""

    asked: Trial
    name: str
    experiment: str
    as_json: bool

    def all(self, questions: Iterable[Question]) -> int:
        """The exit code: 2 where a prompt could not be asked."""
        problems = 0
        for question in questions:
            answers = self.asked.ask(question.prompt)
            problems += answers.problem is not None
            told = self._said(question, answers)
            if self.as_json:
                terminal.answer(self._line(told))
            else:
                terminal.tell(self._text(told))
        return Misuse.exit_code if problems else 0

    def _said(self, question: Question, answers: Answers) -> dict[str, str]:
        said = {"prompt": question.prompt}
        if question.data:
            said["data"] = question.data
        if answers.problem is not None:
            return {**said, "problem": answers.problem}
        return {**said, "base": answers.base, "checkpoint": answers.checkpoint}

    def _line(self, told: dict[str, str]) -> str:
        return json.dumps({**told, "experiment": self.experiment}, ensure_ascii=False)

    def _text(self, told: dict[str, str]) -> str:
        named = {self.name if key == "checkpoint" else key: text for key, text in told.items()}
        width = max(map(len, (self.name, "problem")))
        return "".join(
            f"{key:<{width}}  {words.block(text, width + 2)}\n" for key, text in named.items()
        )
