"""The programs that agents wrote: what each is, who used it for which data and experiments, and its
text. There is no such section in a run without programs."""

from collections.abc import Iterator
from typing import Final

from pydantic import ValidationError

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.dataset import DatasetRegistered
from rsi_master.core.errors import RsiError
from rsi_master.core.program import FUNCTIONS, ProgramAdded, ProgramText
from rsi_master.interfaces import operations, words
from rsi_master.interfaces.report import training
from rsi_master.interfaces.report.document import (
    Block,
    Cite,
    Code,
    Inline,
    Line,
    Row,
    Section,
    Table,
    Verbatim,
    cut,
    joined,
    paragraph,
)
from rsi_master.interfaces.report.pool import Offered
from rsi_master.interfaces.report.refs import program_anchor
from rsi_master.interfaces.report.subject import Subject

DOES: Final = {
    "transform": "makes rows out of rows",
    "verifier": "judges answers",
    "reward": "judges answers in a training",
}
WHAT: Final = (
    "Agents wrote these. Each ran alone, in a process that reads its own input and writes nothing "
    "but its answers. What it says is a claim: the rows that it makes are scanned like any others, "
    "and points that it gives choose what is learnt, never what is scored."
)
HEAD: Final = ("program", "kind", "added by", "made or judged data", "judged in experiments")


def programs(subject: Subject) -> Section | None:
    """The section; None where no program was added."""
    added = tuple(subject.record.state.programs.values())
    if not added:
        return None
    table = Table(
        "Every program that passed its self-test, and all that it was used for.",
        HEAD,
        tuple(_row(subject, fact) for fact in added),
    )
    texts = tuple(block for fact in added for block in _text(subject, fact))
    return Section("Programs of agents", "programs", (paragraph(WHAT), table, *texts))


def _row(subject: Subject, fact: ProgramAdded) -> Row:
    refs, digest = subject.refs, fact.artifact.digest
    judged = [e for e in subject.record.state.experiments.values() if training.judge(e) == digest]
    cells: tuple[Line, ...] = (
        (Code(words.short(digest)), f" {fact.title} ", Code(digest)),
        (f"{fact.kind}: {DOES[fact.kind]}",),
        (
            refs.node(fact.by),
            f", self-test of {words.count(fact.examples, 'example')} ",
            *refs.event(ProgramAdded, digest),
        ),
        joined(tuple(_uses(subject, digest))) or ("none",),
        joined(tuple((refs.experiment(e.id), " of ", refs.node(e.worker())) for e in judged))
        or ("none",),
    )
    return Row(cells, program_anchor(digest))


def _uses(subject: Subject, program: str) -> Iterator[Line]:
    """The datasets for which it was asked, each with who asked."""
    for event in subject.record.events:
        fact = event.fact
        if not isinstance(fact, Offered) or operations.program(fact.source) != program:
            continue
        what: Inline = "one that was refused"
        if isinstance(fact, DatasetRegistered):
            what = subject.refs.dataset(fact.artifact.digest)
        yield (what, " of ", subject.refs.node(fact.by), " ", Cite(event.position))


def _text(subject: Subject, fact: ProgramAdded) -> tuple[Block, ...]:
    """Its source, if the bytes are there and true to the digest."""
    digest = fact.artifact.digest
    name, parameters = FUNCTIONS[fact.kind]
    head = (subject.refs.program(digest), f" {cut(fact.title)}, {name}({', '.join(parameters)})")
    try:
        data = FolderObjects(subject.record.folder.objects).get_bytes(digest)
        source = ProgramText.model_validate_json(data).source
    except RsiError as problem:
        return (paragraph(*head, f": {problem.code}, not shown."),)
    except ValidationError:
        return (paragraph(*head, ": its bytes are no program, not shown."),)
    return (paragraph(*head, ":"), Verbatim(source))
