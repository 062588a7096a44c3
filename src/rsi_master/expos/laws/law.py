"""What a law is, and what several of them ask of a record."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    ReviewSubmitted,
    WorkerFinalised,
)
from rsi_master.core.program import KINDS
from rsi_master.core.run import RunFinished
from rsi_master.core.state import State
from rsi_master.expos.order import Flaw

Check = Callable[[Sequence[Event]], Sequence[Flaw]]


def flaw(code: str, event: Event, what: str) -> Flaw:
    """What is wrong at an event."""
    return Flaw(code=code, where=f"event {event.position}", what=what)


def finished(events: Sequence[Event]) -> bool:
    """Whether the record says that the run is over."""
    return any(isinstance(event.fact, RunFinished) for event in events)


def continues(fact: Fact) -> str | None:
    """The node that must have been created before, for the fact to say something of it."""
    if isinstance(fact, WorkerFinalised | ReviewSubmitted | DirectionClosed | DirectionReopened):
        return fact.node
    return None


def states(contract: Contract, events: Sequence[Event]) -> Iterator[tuple[State, Event]]:
    """Each event with the state before it, which is the one that it was decided in. Ends at a fact
    about a node that was never created, which `nodes_exist` tells of."""
    state = State.under(contract)
    for event in events:
        yield state, event
        node = continues(event.fact)
        if node is not None and node not in state.graph.nodes:
            return
        state.apply(event)


def programs(fact: Fact) -> Iterator[tuple[str, str]]:
    """The programs of agents that a fact says were used, each after what it was used as."""
    said: Mapping[str, object] = {}
    if isinstance(fact, DatasetRegistered | DatasetRefused):
        filtered = fact.source.operation.get("filter")
        said = {**(filtered if isinstance(filtered, dict) else {}), **fact.source.operation}
    elif isinstance(fact, ExperimentQueued):
        said = fact.recipe
    for use in KINDS:
        program = said.get(use)
        if isinstance(program, str):
            yield use, program
