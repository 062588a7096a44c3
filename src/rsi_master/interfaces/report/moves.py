"""What Main did after a review: its next moves, read from the events. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from rsi_master.core.choice import Choice
from rsi_master.core.event import Event
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    ReviewRequested,
    ReviewSubmitted,
    WorkerCreated,
)
from rsi_master.core.run import ClaimOpened
from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import Cite, Line, cut
from rsi_master.interfaces.report.refs import Refs


@dataclass(frozen=True)
class Move:
    """A move and the event that records it."""

    fact: Choice
    position: int


def after(events: Iterable[Event], review: str) -> tuple[Move, ...]:
    """Main's moves after the report of a review and before the next report."""
    found: list[Move] = []
    reported = False
    for event in events:
        if isinstance(event.fact, ReviewSubmitted):
            reported = event.fact.node == review
        elif reported and isinstance(event.fact, Choice):
            found.append(Move(event.fact, event.position))
    return tuple(found)


def told(move: Move, refs: Refs) -> Line:
    """A move in words."""
    return (*_what(move.fact, refs), " ", Cite(move.position))


def _what(fact: Choice, refs: Refs) -> Line:
    if isinstance(fact, WorkerCreated):
        return _opened(fact, refs)
    if isinstance(fact, DirectionClosed):
        return ("closed ", refs.node(fact.node), ": ", *refs.told(cut(fact.reason)))
    if isinstance(fact, DirectionReopened):
        return ("reopened ", refs.node(fact.node), ": ", *refs.told(cut(fact.reason)))
    if isinstance(fact, ReviewRequested):
        return ("asked for a review, ", refs.node(fact.node), ", of ", *refs.nodes(fact.scope))
    if isinstance(fact, ClaimOpened):
        return ("claimed ", refs.experiment(fact.experiment), ", which opened the holdout")
    return (f"finished: {cut(fact.reason)}",)


def _opened(fact: WorkerCreated, refs: Refs) -> Line:
    share = words.count(fact.experiments, "experiment")
    opened: Line = ("opened ", refs.node(fact.node))
    if fact.replicates is not None:
        again = refs.experiment(fact.replicates)
        number = fact.promotion + 1
        return (*opened, " to verify ", again, f" on fresh seed number {number}, {share}")
    after_ = refs.nodes(fact.predecessors, "the base")
    about = refs.told(cut(fact.direction))
    return (*opened, ": ", *about, f", up to {share}, from ", *after_)
