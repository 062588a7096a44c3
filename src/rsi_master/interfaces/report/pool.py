"""All data that the run was offered: where they came from, what was done to them, and what the scan
left. Every dataset of the run stands here."""

from typing import Final, TypeAlias

from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.event import Event
from rsi_master.interfaces import operations, words
from rsi_master.interfaces.report.document import (
    Block,
    Cite,
    Code,
    Line,
    Row,
    Table,
    cut,
    joined,
    paragraph,
)
from rsi_master.interfaces.report.refs import dataset_anchor
from rsi_master.interfaces.report.subject import Subject

Offered: TypeAlias = DatasetRegistered | DatasetRefused
OPERATION_CHARS: Final = 600
HEAD: Final = ("dataset", "source", "how it was made", "rows", "dropped by the scan", "record")
CAPTION: Final = (
    "All data that the run was offered. An id is the digest of the rows that the scan left, so the "
    "same rows of another source have the same id. Of the reasons to drop a row SEALED means that "
    "it repeats a sealed item, DUPLICATE that an equal one stands before it, EMPTY that there is "
    "nothing to learn from it."
)


def pool(subject: Subject) -> tuple[Block, ...]:
    """The table, in the order in which the data were offered."""
    events = subject.record.events
    rows = tuple(_row(subject, event) for event in events if isinstance(event.fact, Offered))
    return (Table(CAPTION, HEAD, rows),) if rows else (paragraph("The pool holds no data."),)


def _row(subject: Subject, event: Event) -> Row:
    fact = event.fact
    assert isinstance(fact, Offered), "the caller takes no other facts"
    source = (_origin(subject, fact.source), _operation(subject, fact.source))
    cite: Line = (f"added by {fact.by} ", Cite(event.position))
    dropped: Line = (cut(words.drops(fact.dropped)),)
    if isinstance(fact, DatasetRefused):
        left: Line = (f"none of {fact.offered:,} offered",)
        return Row((("refused",), *source, left, dropped, cite))
    digest = fact.artifact.digest
    left = (f"{fact.rows:,} {fact.holds} of {fact.offered:,} offered",)
    first = subject.refs.event(DatasetRegistered, digest) == (Cite(event.position),)
    anchor = dataset_anchor(digest) if first else None
    return Row(((Code(digest),), *source, left, dropped, cite), anchor)


def _origin(subject: Subject, source: Source) -> Line:
    made = joined(tuple((subject.refs.dataset(parent),) for parent in source.parents))
    return (cut(source.origin), *((", from ", *made) if made else ()))


def _operation(subject: Subject, source: Source) -> Line:
    told: Line = (cut(operations.told(source), OPERATION_CHARS),)
    program = operations.program(source)
    if program is not None:
        told = (*told, "; the program is ", subject.refs.program(program))
    if source.sampled is not None:
        told = (*told, "; the answers are of ", subject.refs.experiment(source.sampled.experiment))
    return told
