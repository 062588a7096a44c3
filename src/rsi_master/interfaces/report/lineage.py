"""How the champion was made: each training down to the base with its data, and sample rows as the
trainer read them. Every dataset of the run stands here."""

from collections.abc import Iterator
from typing import TypeAlias

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.artifact import AnyRow
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.errors import RsiError
from rsi_master.core.event import Event
from rsi_master.core.experiment import CheckpointStored, Experiment
from rsi_master.core.lineage import ancestors
from rsi_master.domains.data.pool import parse
from rsi_master.interfaces import words
from rsi_master.interfaces.report import directions
from rsi_master.interfaces.report.document import (
    Block,
    Cite,
    Code,
    Line,
    Row,
    Section,
    Table,
    cut,
    joined,
    paragraph,
)
from rsi_master.interfaces.report.refs import dataset_anchor
from rsi_master.interfaces.report.subject import Subject

SAMPLES = 3
ROW_CHARS = 240
RECIPE_CHARS = 600
LINE_END = " \u23ce "
CAPTION = (
    "All data that the run was offered; an id is the digest of the rows that the scan left, so the "
    "same rows of another source have the same id."
)
Told: TypeAlias = DatasetRegistered | DatasetRefused


def lineage(subject: Subject) -> Section:
    """The section."""
    state = subject.record.state
    leader = directions.leader(state)
    blocks: list[Block] = []
    if leader is None:
        blocks.append(paragraph("Nothing is accepted and scored yet."))
    else:
        blocks += _way(subject, leader)
    return Section("Lineage and data", "lineage", (*blocks, *_pool(subject)))


def _way(subject: Subject, leader: directions.Leader) -> Iterator[Block]:
    state = subject.record.state
    what = "was claimed" if leader.claimed else "leads on dev so far (nothing is claimed yet)"
    first = subject.refs.experiment(leader.experiment)
    yield paragraph("From ", first, f", which {what}, down to the base, nearest first.")
    chain = (leader.experiment, *ancestors(state, leader.experiment))
    known = [state.experiments[name] for name in chain if name in state.experiments]
    yield Table(
        "Each training, what it continued, and what proves that it took place.",
        ("experiment", "continues", "recipe", "data", "proof of work", "weights"),
        tuple(_step(subject, one) for one in known),
    )
    used = dict.fromkeys(d for one in known if one.queued for d in one.queued.data)
    for digest in used:
        if digest in state.datasets:
            yield _samples(subject, state.datasets[digest])


def _step(subject: Subject, experiment: Experiment) -> Row:
    refs, queued = subject.refs, experiment.queued
    name: Line = (refs.experiment(experiment.id),)
    if queued is None:
        pinned = subject.record.contract.base.digest
        return Row((name, ("nothing",), ("the base model as it is",), (), (), (Code(pinned),)))
    data = joined(tuple((refs.dataset(digest),) for digest in queued.data)) or ("none",)
    told = cut(words.training(subject.record.state, experiment), RECIPE_CHARS)
    parents = refs.experiments(queued.parents())
    return Row((name, parents, (told,), data, _proof(subject, experiment), _weights(experiment)))


def _proof(subject: Subject, experiment: Experiment) -> Line:
    stored = experiment.checkpoint
    if stored is None:
        return ("none",)
    proof = stored.proof
    loss = f", last loss {proof.final_loss:.3g}" if proof.final_loss is not None else ""
    tokens = f"{proof.supervised_tokens:,} of {proof.total_tokens:,} tokens learnt"
    cite = subject.refs.event(CheckpointStored, experiment.id)
    return (f"{words.count(proof.steps, 'step')}, {tokens}{loss} ", *cite)


def _weights(experiment: Experiment) -> Line:
    stored = experiment.checkpoint
    return (Code(stored.proof.weights),) if stored else ()


def _samples(subject: Subject, fact: DatasetRegistered) -> Block:
    """The first rows of a dataset, if its bytes are there and true to the digest."""
    digest = fact.artifact.digest
    try:
        data = FolderObjects(subject.record.folder.objects).get_bytes(digest)
        rows = parse(data, 0, SAMPLES)
    except RsiError as problem:
        return paragraph("Rows of ", subject.refs.dataset(digest), f": {problem.code}, not shown.")
    label = f"The first of {fact.rows:,} rows of {words.short(digest)}, {cut(fact.source.origin)}"
    return Table(
        f"{label}, cut to {ROW_CHARS} letters; \u23ce is the end of a line.",
        ("row", "prompt", "answer"),
        tuple(_sample(number, row) for number, row in enumerate(rows, 1)),
    )


def _sample(number: int, row: AnyRow) -> Row:
    answers = ", not: ".join(map(_one_line, row.answers())) or "none"
    return Row(((str(number),), (_one_line(row.prompt),), (answers,)))


def _one_line(text: str) -> str:
    return cut(LINE_END.join(text[: 4 * ROW_CHARS].splitlines()), ROW_CHARS)


def _pool(subject: Subject) -> tuple[Block, ...]:
    events = subject.record.events
    rows = tuple(_registration(subject, e) for e in events if isinstance(e.fact, Told))
    if not rows:
        return (paragraph("The pool holds no data."),)
    head = ("dataset", "source", "holds", "rows", "dropped by the scan", "added by", "record")
    return (Table(CAPTION, head, rows),)


def _registration(subject: Subject, event: Event) -> Row:
    fact, refs = event.fact, subject.refs
    assert isinstance(fact, Told), "the caller takes no other facts"
    made = joined(tuple((refs.dataset(parent),) for parent in fact.source.parents))
    wrote = fact.source.sampled
    answers: Line = (", answers of ", refs.experiment(wrote.experiment)) if wrote else ()
    source: Line = (cut(fact.source.origin), *((" from ", *made) if made else ()), *answers)
    dropped: Line = (cut(words.drops(fact.dropped)),)
    by: tuple[Line, Line] = ((fact.by,), (Cite(event.position),))
    if isinstance(fact, DatasetRefused):
        left: Line = (f"none of {fact.offered:,} offered",)
        return Row((("refused",), source, (), left, dropped, *by))
    digest = fact.artifact.digest
    left = (f"{fact.rows:,} of {fact.offered:,} offered",)
    first = refs.event(DatasetRegistered, digest) == by[1]
    anchor = dataset_anchor(digest) if first else None
    return Row(((Code(digest),), source, (fact.holds,), left, dropped, *by), anchor)
