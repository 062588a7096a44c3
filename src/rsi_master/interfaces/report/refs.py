"""References: what an id is called in the page, where it leads, and which event tells of it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rsi_master.app.reader import Record
from rsi_master.core.dataset import DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import (
    BASE,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    ReviewRequested,
    ReviewSubmitted,
    WorkerCreated,
    WorkerFinalised,
)
from rsi_master.core.program import ProgramAdded
from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import Cite, Code, Inline, Line, Link, cut, joined

ID_CHARS = 100
_WORD = re.compile(r"\w+")
_ODD = re.compile(r"[^A-Za-z0-9:.-]")


@dataclass(frozen=True)
class Refs:
    """The references of one record. An id that the record does not hold leads nowhere."""

    known: frozenset[str]
    positions: dict[tuple[str, str], int]
    names: dict[str, str]

    @staticmethod
    def of(record: Record) -> "Refs":
        """Those of a record."""
        state = record.state
        anchors = (
            *map(experiment_anchor, state.experiments),
            *map(node_anchor, state.graph.nodes),
            *map(dataset_anchor, state.datasets),
            *map(program_anchor, state.programs),
        )
        return Refs(frozenset(anchors), _positions(record.events), _names(record))

    def told(self, text: str) -> Line:
        """A text in which the short ids that it names are references."""
        parts: list[Inline] = []
        at = 0
        for found in _WORD.finditer(text):
            if found[0] in self.names:
                parts += [text[at : found.start()], Link(found[0], self.names[found[0]])]
                at = found.end()
        return tuple(part for part in (*parts, text[at:]) if part)

    def experiment(self, name: str) -> Inline:
        """An experiment by its short id."""
        return self._link(words.short(name), experiment_anchor(name))

    def experiments(self, names: Iterable[str], nothing: str = "none") -> Line:
        """Experiments in a row."""
        return joined(tuple((self.experiment(name),) for name in names)) or (nothing,)

    def node(self, name: str) -> Inline:
        """A Worker or a review."""
        return self._link(name, node_anchor(name))

    def nodes(self, names: Iterable[str], nothing: str = "none") -> Line:
        """Nodes in a row."""
        return joined(tuple((self.node(name),) for name in names)) or (nothing,)

    def dataset(self, digest: str) -> Inline:
        """A dataset by its short digest."""
        return self._link(words.short(digest), dataset_anchor(digest))

    def program(self, digest: str) -> Inline:
        """A program of an agent by its short digest."""
        return self._link(words.short(digest), program_anchor(digest))

    def event(self, kind: type[Fact], subject: str = "") -> Line:
        """The event that told of it, if any did."""
        at = self.positions.get((kind.type, subject))
        return () if at is None else (Cite(at),)

    def thing(self, name: str) -> Inline:
        """Whatever the id names: what a Reviewer cites may be of any kind."""
        for anchor_of in (experiment_anchor, node_anchor, dataset_anchor, program_anchor):
            anchor = anchor_of(name)
            if anchor in self.known:
                return Link(words.short(name), anchor)
        return Code(cut(name, ID_CHARS))

    def _link(self, label: str, anchor: str) -> Inline:
        return Link(label, anchor) if anchor in self.known else Code(cut(label, ID_CHARS))


def experiment_anchor(name: str) -> str:
    """Where an experiment stands."""
    return f"experiment-{_fit(name)}"


def node_anchor(name: str) -> str:
    """Where a Worker or a review stands."""
    return f"node-{_fit(name)}"


def dataset_anchor(digest: str) -> str:
    """Where a dataset stands."""
    return f"dataset-{_fit(digest)}"


def program_anchor(digest: str) -> str:
    """Where a program stands."""
    return f"program-{_fit(digest)}"


def event_anchor(position: int) -> str:
    """Where a cited event stands."""
    return f"event-{position}"


def _fit(name: str) -> str:
    """The id as it is, or with letters that an anchor cannot have replaced by their numbers."""
    return _ODD.sub(lambda found: f"_{ord(found[0]):x}_", name)


def _names(record: Record) -> dict[str, str]:
    """Where each short id leads; one that several have leads nowhere, and neither does `base`, a
    word like others in a text."""
    state = record.state
    led = [
        *((words.short(name), experiment_anchor(name)) for name in state.experiments),
        *((name, node_anchor(name)) for name in state.graph.nodes),
        *((words.short(digest), dataset_anchor(digest)) for digest in state.datasets),
        *((words.short(digest), program_anchor(digest)) for digest in state.programs),
    ]
    often = Counter(label for label, _ in led)
    return {label: anchor for label, anchor in led if often[label] == 1 and label != BASE}


def _positions(events: Iterable[Event]) -> dict[tuple[str, str], int]:
    """The last event of a kind for each subject, as the projections take the last; of datasets the
    first."""
    found: dict[tuple[str, str], int] = {}
    for event in events:
        key = (event.fact.type, _subject(event.fact))
        if not (isinstance(event.fact, DatasetRegistered) and key in found):
            found[key] = event.position
    return found


def _subject(fact: Fact) -> str:
    if isinstance(fact, ExperimentQueued | CheckpointStored | EvaluationRecorded):
        return fact.experiment
    if isinstance(fact, IntegritySet | ExperimentEnded):
        return fact.experiment
    if isinstance(fact, WorkerCreated | WorkerFinalised | ReviewRequested):
        return fact.node
    if isinstance(fact, ReviewSubmitted | DirectionClosed | DirectionReopened):
        return fact.node
    if isinstance(fact, DatasetRegistered | ProgramAdded):
        return fact.artifact.digest
    return ""
