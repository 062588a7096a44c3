"""Finding a recorded thing by its id or an unmistakable part of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rsi_master.app.reader import Record
from rsi_master.core.errors import Misuse
from rsi_master.core.facts import artifacts
from rsi_master.core.graph import WorkerCreated

Kind = Literal["experiment", "dataset", "worker", "review", "artifact", "event"]
SHORTEST = 4
LISTED = 8


@dataclass(frozen=True)
class Thing:
    """What an id names in one run."""

    kind: Kind
    id: str


def find(record: Record, named: str) -> Thing:
    """The thing of an id, of its start or its end, or of an event's position (`#12`). Where a part
    fits events and one other thing, that one is meant."""
    things = dict.fromkeys(_things(record))
    exact = [thing for thing in things if named in (thing.id, _bare(thing.id))]
    if exact:
        return exact[0]
    if named.startswith("#") and named[1:].isdecimal():
        return _at(record, int(named[1:]))
    close = [thing for thing in things if _close(thing.id, named)]
    for choice in (close, [thing for thing in close if thing.kind != "event"]):
        if len(choice) == 1:
            return choice[0]
    if close:
        some = ", ".join(f"{thing.kind} {thing.id}" for thing in close[:LISTED])
        more = f" and {len(close) - LISTED} more" if len(close) > LISTED else ""
        raise Misuse("AMBIGUOUS", f"{named!r} may be {some}{more}; give more of the id")
    raise Misuse(
        "UNKNOWN_ID",
        f"run {record.folder.id} holds nothing called {named!r}; `rsi graph` lists experiments "
        f"and nodes, and a part of an id needs {SHORTEST} characters",
    )


def _things(record: Record) -> Iterator[Thing]:
    """Everything with an id; a dataset comes before the artifact that holds its bytes."""
    state = record.state
    for node in state.graph.nodes.values():
        yield Thing("worker" if isinstance(node.created, WorkerCreated) else "review", node.id)
    for name in state.experiments:
        yield Thing("experiment", name)
    for digest in state.datasets:
        yield Thing("dataset", digest)
    for event in record.events:
        yield Thing("event", event.id)
        for artifact in artifacts(event):
            if artifact.digest not in state.datasets:
                yield Thing("artifact", artifact.digest)


def _at(record: Record, position: int) -> Thing:
    if position >= len(record.events):
        last = len(record.events) - 1
        raise Misuse("UNKNOWN_ID", f"there is no event #{position}; the last one is #{last}")
    return Thing("event", record.events[position].id)


def _close(whole: str, part: str) -> bool:
    bare = _bare(part)
    if len(bare) < SHORTEST:
        return False
    return _bare(whole).startswith(bare) or whole.endswith(bare)


def _bare(name: str) -> str:
    return name.removeprefix("sha256:")
