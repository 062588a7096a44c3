"""How the champion was made: each training down to the base, those too whose checkpoints wrote
answers in its data, and sample rows as the trainer read them."""

from collections.abc import Iterator
from dataclasses import dataclass

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.artifact import AnyRow
from rsi_master.core.dataset import DatasetRegistered
from rsi_master.core.errors import RsiError
from rsi_master.core.experiment import BASE, CheckpointStored, Experiment
from rsi_master.core.lineage import ancestors, origins, parents
from rsi_master.core.state import State
from rsi_master.domains.data.pool import parse
from rsi_master.interfaces import words
from rsi_master.interfaces.report import directions, training
from rsi_master.interfaces.report.document import (
    Block,
    Code,
    Line,
    Row,
    Section,
    Table,
    cut,
    joined,
    paragraph,
)
from rsi_master.interfaces.report.pool import pool
from rsi_master.interfaces.report.subject import Subject

SAMPLES = 3
ROW_CHARS = 240
LINE_END = " \u23ce "
HEAD = ("experiment", "gave", "continues", "recipe", "data", "proof of work")
CAPTION = (
    "Each training that the champion rests on: what it gave, what it continued, and what proves "
    "that it took place. An experiment gave its weights, if the champion continues them, or "
    "answers, if its checkpoint wrote rows of the data; what such a writer continues is there too."
)


@dataclass(frozen=True)
class Way:
    """All that an experiment comes from, nearest first: `weights` are those that it continues,
    itself included, `wrote` the data of each writer of answers."""

    names: tuple[str, ...]
    weights: frozenset[str]
    wrote: dict[str, tuple[str, ...]]

    @staticmethod
    def to(state: State, first: str) -> "Way":
        """The way to an experiment."""
        names = (first, *ancestors(state, first, origins))
        known = (state.experiments[name].queued for name in names if name in state.experiments)
        data = dict.fromkeys(digest for queued in known if queued for digest in queued.data)
        wrote: dict[str, tuple[str, ...]] = {}
        for digest in _behind(state, data):
            sampled = state.datasets[digest].source.sampled
            if sampled is not None:
                wrote[sampled.experiment] = (*wrote.get(sampled.experiment, ()), digest)
        return Way(names, frozenset((first, *ancestors(state, first))), wrote)


def lineage(subject: Subject) -> Section:
    """The section."""
    leader = directions.leader(subject.record.state)
    blocks: list[Block] = []
    if leader is None:
        blocks.append(paragraph("Nothing is accepted and scored yet."))
    else:
        blocks += _way(subject, leader)
    return Section("Lineage and data", "lineage", (*blocks, *pool(subject)))


def _behind(state: State, data: dict[str, None]) -> tuple[str, ...]:
    """The datasets and all that they were made of, each once."""
    open_, seen = list(data), dict[str, None]()
    while open_:
        digest = open_.pop(0)
        if digest in state.datasets and digest not in seen:
            seen[digest] = None
            open_ += state.datasets[digest].source.parents
    return tuple(seen)


def _way(subject: Subject, leader: directions.Leader) -> Iterator[Block]:
    state = subject.record.state
    what = "was claimed" if leader.claimed else "leads on dev so far (nothing is claimed yet)"
    first = subject.refs.experiment(leader.experiment)
    yield paragraph("From ", first, f", which {what}, down to the base, nearest first.")
    way = Way.to(state, leader.experiment)
    known = [state.experiments[name] for name in way.names if name in state.experiments]
    yield Table(CAPTION, HEAD, tuple(_step(subject, way, one) for one in known))
    used = dict.fromkeys(d for one in known if one.queued for d in one.queued.data)
    for digest in used:
        if digest in state.datasets:
            yield _samples(subject, state.datasets[digest])


def _step(subject: Subject, way: Way, experiment: Experiment) -> Row:
    refs, name = subject.refs, experiment.id
    return Row(
        (
            (refs.experiment(name),),
            _gave(subject, way, name),
            refs.experiments(parents(subject.record.state, name), "nothing"),
            training.settings(subject, experiment),
            training.data(subject, experiment),
            _proof(subject, experiment),
        )
    )


def _gave(subject: Subject, way: Way, name: str) -> Line:
    weights: Line = ("weights",) if name in way.weights else ()
    data = tuple((subject.refs.dataset(digest),) for digest in way.wrote.get(name, ()))
    answers: Line = ("answers in ", *joined(data)) if data else ()
    found = joined(tuple(line for line in (weights, answers) if line))
    return found or ("weights to a writer of answers",)


def _proof(subject: Subject, experiment: Experiment) -> Line:
    if experiment.id == BASE:
        return ("pinned by the contract: ", Code(subject.record.contract.base.digest))
    stored = experiment.checkpoint
    if stored is None:
        return ("none",)
    proof = stored.proof
    loss = f", last loss {proof.final_loss:.3g}" if proof.final_loss is not None else ""
    tokens = f"{proof.supervised_tokens:,} of {proof.total_tokens:,} tokens learnt"
    cite = subject.refs.event(CheckpointStored, experiment.id)
    told = f"{words.count(proof.steps, 'step')}, {tokens}{loss}; weights "
    return (told, Code(proof.weights), " ", *cite)


def _samples(subject: Subject, fact: DatasetRegistered) -> Block:
    """The first rows of a dataset, if its bytes are there and true to the digest."""
    digest = fact.artifact.digest
    try:
        data = FolderObjects(subject.record.folder.objects).get_bytes(digest)
        rows = parse(data, 0, SAMPLES)
    except RsiError as problem:
        return paragraph("Rows of ", subject.refs.dataset(digest), f": {problem.code}, not shown.")
    label = f"The first of {fact.rows:,} {fact.holds} of {words.short(digest)}"
    return Table(
        f"{label}, {cut(fact.source.origin)}, cut to {ROW_CHARS} letters; \u23ce is the end of a "
        "line.",
        ("row", "prompt", "answer"),
        tuple(_sample(number, row) for number, row in enumerate(rows, 1)),
    )


def _sample(number: int, row: AnyRow) -> Row:
    answers = ", not: ".join(map(_one_line, row.answers())) or "none"
    return Row(((str(number),), (_one_line(row.prompt),), (answers,)))


def _one_line(text: str) -> str:
    return cut(LINE_END.join(text[: 4 * ROW_CHARS].splitlines()), ROW_CHARS)
