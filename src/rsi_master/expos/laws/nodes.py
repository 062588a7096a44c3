"""Laws of the research graph: nodes are created once and before all else of them, and experiments
are what their Worker was created for."""

from collections.abc import Iterable, Mapping, Sequence

from rsi_master.core.event import Event
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.graph import ReviewRequested, WorkerCreated
from rsi_master.expos.laws.law import continues, flaw
from rsi_master.expos.order import Flaw


def nodes_exist(events: Sequence[Event]) -> list[Flaw]:
    """A node is created once, and finalised, reported or closed only then."""
    known: set[str] = set()
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, WorkerCreated | ReviewRequested):
            if fact.node in known:
                flaws.append(flaw("NODE_TWICE", event, f"{fact.node} is created again"))
            known.add(fact.node)
        node = continues(fact)
        if node is not None and node not in known:
            flaws.append(flaw("NODE_UNKNOWN", event, f"{node} was not created"))
    return flaws


def experiments_are_assigned(events: Sequence[Event]) -> list[Flaw]:
    """An experiment belongs to a Worker of its purpose. That of a verification repeats one with an
    equal effective recipe, and names it or the whole that its Worker repeats; an exploration
    repeats none."""
    workers: dict[str, WorkerCreated] = {}
    queued: dict[str, ExperimentQueued] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, WorkerCreated):
            workers.setdefault(fact.node, fact)
        elif isinstance(fact, ExperimentQueued):
            worker = workers.get(fact.worker)
            if worker is None:
                flaws.append(flaw("NODE_UNKNOWN", event, f"{fact.worker} was not created"))
            elif worker.purpose != fact.purpose:
                told = f"to {fact.purpose}, of {fact.worker}, which was created to {worker.purpose}"
                flaws.append(flaw("PURPOSE", event, told))
            elif not _repeats(fact, worker, queued):
                told = f"to {fact.purpose}, and replicates {fact.replicates}"
                flaws.append(flaw("PURPOSE", event, told))
            queued.setdefault(fact.experiment, fact)
    return flaws


def _repeats(
    fact: ExperimentQueued, worker: WorkerCreated, queued: Mapping[str, ExperimentQueued]
) -> bool:
    if fact.purpose == "explore":
        return fact.replicates is None
    original = queued.get(fact.replicates or "")
    if original is None:
        return False
    whole = _lineage(original, queued) if fact.replicates == worker.replicates else (original,)
    return fact.effective in {one.effective for one in whole}


def _lineage(
    of: ExperimentQueued, queued: Mapping[str, ExperimentQueued]
) -> Iterable[ExperimentQueued]:
    """The experiment and all that it continues."""
    found: dict[str, ExperimentQueued] = {}
    open_ = [of]
    while open_:
        one = open_.pop()
        if one.experiment not in found:
            found[one.experiment] = one
            open_ += [queued[parent] for parent in one.parents() if parent in queued]
    return found.values()
