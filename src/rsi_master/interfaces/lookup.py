"""Finding a recorded thing by its id or an unmistakable part of it, its position or its name."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rsi_master.app.reader import Record
from rsi_master.core.errors import Misuse
from rsi_master.core.facts import artifacts
from rsi_master.core.graph import WorkerCreated

Kind = Literal[
    "experiment", "dataset", "worker", "review", "artifact", "event", "main", "claim", "contract"
]
SHORTEST = 4
LISTED = 8
POSITION_DIGITS = 7


@dataclass(frozen=True)
class Thing:
    """What an id names in one run."""

    kind: Kind
    id: str


def find(record: Record, named: str) -> Thing:
    """The thing of a name, of an id or its start or end, or of an event's position: `@12`, `#12`
    or `12`. Where a part fits events and one other thing, that one is meant."""
    if named in ("champion", "claim"):
        return _outcome(record, named)
    names = _names(record)
    exact = names.get(named) or names.get(f"sha256:{named}")
    if exact is not None:
        return exact
    if named[:1] in ("@", "#") and named[1:].isdecimal():
        return _at(record, int(named[1:]))
    close = dict.fromkeys(thing for name, thing in names.items() if _close(name, named))
    others = [thing for thing in close if thing.kind != "event"]
    if not others and named.isdecimal() and len(named) <= POSITION_DIGITS:
        return _at(record, int(named))
    for choice in (list(close), others):
        if len(choice) == 1:
            return choice[0]
    if close:
        some = ", ".join(f"{thing.kind} {thing.id}" for thing in list(close)[:LISTED])
        more = f" and {len(close) - LISTED} more" if len(close) > LISTED else ""
        raise Misuse("AMBIGUOUS", f"{named!r} may be {some}{more}; give more of the id")
    raise Misuse(
        "UNKNOWN_ID",
        f"run {record.folder.id} holds nothing called {named!r}; `rsi graph` lists experiments "
        f"and nodes, and a part of an id needs {SHORTEST} characters",
    )


def _names(record: Record) -> dict[str, Thing]:
    """Everything by its id, experiments also by the digest of their weights. A dataset comes before
    the artifact that holds its bytes."""
    names: dict[str, Thing] = {}
    for thing in _things(record):
        names.setdefault(thing.id, thing)
    for experiment in record.state.experiments.values():
        if experiment.checkpoint is not None:
            weights = experiment.checkpoint.proof.weights
            names.setdefault(weights, Thing("experiment", experiment.id))
    names["contract"] = names[record.contract.digest()]
    return names


def _things(record: Record) -> Iterator[Thing]:
    state = record.state
    yield Thing("main", "main")
    yield Thing("contract", record.contract.digest())
    for node in state.graph.nodes.values():
        yield Thing("worker" if isinstance(node.created, WorkerCreated) else "review", node.id)
    for name in state.experiments:
        yield Thing("experiment", name)
    for digest in state.datasets:
        yield Thing("dataset", digest)
    for event in record.events:
        yield Thing("event", event.id)
        for artifact in artifacts(event):
            yield Thing("artifact", artifact.digest)


def _outcome(record: Record, named: str) -> Thing:
    state = record.state
    if named == "claim" and state.claimed is not None:
        return Thing("claim", state.claimed.name)
    if named == "champion" and state.finished is not None and state.finished.champion is not None:
        return Thing("experiment", state.finished.champion)
    raise Misuse(
        "NO_SUCH_OUTCOME",
        f"run {record.folder.id} has no {named}; `rsi status` says where it stands",
    )


def _at(record: Record, position: int) -> Thing:
    if position >= len(record.events):
        last = len(record.events) - 1
        raise Misuse("UNKNOWN_ID", f"there is no event @{position}; the last one is @{last}")
    return Thing("event", record.events[position].id)


def _close(whole: str, part: str) -> bool:
    bare = _bare(part)
    if len(bare) < SHORTEST:
        return False
    return _bare(whole).startswith(bare) or whole.endswith(bare)


def _bare(name: str) -> str:
    return name.removeprefix("sha256:")
