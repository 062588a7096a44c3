"""The orchestration as a pure step: events in, orders out.

An order asks one role one question, or ends a node that is spent. The loop remembers which orders
are due; replaying the same events gives the same loop and the same orders. Main acts at run start,
when a Worker finalises, when a Reviewer reports, when a claim is scored; never on a schedule.
"""

from dataclasses import dataclass, field, replace
from typing import Literal

from rsi_master.core.event import Event
from rsi_master.core.experiment import BASE, ExperimentEnded, ExperimentQueued
from rsi_master.core.graph import ReviewRequested, ReviewSubmitted, WorkerCreated, WorkerFinalised
from rsi_master.core.run import (
    ClaimFailed,
    ClaimOpened,
    ClaimScored,
    FinishAsked,
    RunFinished,
    StopAsked,
    Trigger,
    TurnEnded,
    TurnRole,
    TurnStarted,
)

OrderKind = Literal["ask", "finalise", "excuse", "finish"]


@dataclass(frozen=True)
class Order:
    """`ask` a role; `finalise` a Worker or `excuse` a Reviewer that is spent; `finish` the run."""

    id: str
    kind: OrderKind
    role: TurnRole
    node: str
    trigger: Trigger
    reason: str = ""


@dataclass(frozen=True)
class Loop:
    """What the orchestration remembers. `due` are orders without an end, oldest first."""

    failures_allowed: int
    due: tuple[Order, ...] = ()
    started: frozenset[str] = frozenset()
    active: frozenset[str] = frozenset()
    running: dict[str, str] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    last_ended: str | None = None
    claiming: bool = False
    over: bool = False


def step(loop: Loop, event: Event) -> tuple[Loop, tuple[Order, ...]]:
    """The loop after the event, and the orders that the event gives rise to."""
    if loop.over:
        return loop, ()
    loop = _remember(loop, event)
    if loop.over:
        return replace(loop, due=()), ()
    orders = tuple(_orders(loop, event))
    return replace(loop, due=loop.due + orders), orders


def ready(loop: Loop) -> tuple[Order, ...]:
    """Due orders that may start now: one at a time for each node."""
    busy = {order.node for order in loop.due if order.id in loop.started}
    found: list[Order] = []
    for order in loop.due:
        if order.id not in loop.started and order.node not in busy:
            busy.add(order.node)
            found.append(order)
    return tuple(found)


def _remember(loop: Loop, event: Event) -> Loop:
    match event.fact:
        case WorkerCreated(node=node) | ReviewRequested(node=node):
            return replace(loop, active=loop.active | {node})
        case WorkerFinalised(node=node) | ReviewSubmitted(node=node):
            kept = tuple(o for o in loop.due if o.node != node or o.id in loop.started)
            return replace(loop, active=loop.active - {node}, due=kept)
        case ExperimentQueued(experiment=experiment, worker=worker):
            kept = tuple(o for o in loop.due if o.node != worker or o.id in loop.started)
            return replace(loop, running={**loop.running, experiment: worker}, due=kept)
        case ExperimentEnded(experiment=experiment):
            running = {name: w for name, w in loop.running.items() if name != experiment}
            return replace(loop, running=running, last_ended=loop.running.get(experiment))
        case TurnStarted(order=order):
            return replace(loop, started=loop.started | {order})
        case TurnEnded(order=order, outcome=outcome, node=node):
            return _turn_ended(loop, order, outcome, node)
        case ClaimOpened():
            return replace(loop, claiming=True)
        case ClaimScored() | ClaimFailed():
            return replace(loop, claiming=False)
        case FinishAsked() | StopAsked() | RunFinished():
            return replace(loop, over=True)
        case _:
            return loop


def _turn_ended(loop: Loop, order: str, outcome: str, node: str) -> Loop:
    failures = dict(loop.failures)
    if outcome == "failed":
        failures[node] = failures.get(node, 0) + 1
    elif outcome == "done":
        failures.pop(node, None)
    if outcome == "interrupted":
        # Asked again, it sees what later questions to the node were about.
        again = order if node == "main" or _idle(loop, node) else ""
        due = tuple(o for o in loop.due if o.node != node or o.id == again)
        return replace(loop, due=due, started=loop.started - {order})
    return replace(
        loop,
        due=tuple(o for o in loop.due if o.id != order),
        started=loop.started - {order},
        failures=failures,
    )


def _orders(loop: Loop, event: Event) -> list[Order]:
    at = event.position
    match event.fact:
        case ExperimentEnded(experiment=experiment, lifecycle=lifecycle, detail=detail) if (
            experiment == BASE
        ):
            if lifecycle == "finished":
                return _ask_main(loop, at, "start")
            return [_finish(at, f"the base could not be scored: {detail}")]
        case ExperimentEnded():
            return _after_experiment(loop, at)
        case WorkerCreated(node=node):
            return [_ask(at, "worker", node, "created")] if _idle(loop, node) else []
        case ReviewRequested(node=node):
            return [_ask(at, "reviewer", node, "created")]
        case WorkerFinalised():
            return _ask_main(loop, at, "worker_finalised")
        case ReviewSubmitted():
            return _ask_main(loop, at, "review_reported")
        case ClaimScored() | ClaimFailed():
            return _ask_main(loop, at, "claimed")
        case TurnEnded(node=node, outcome=outcome, detail=detail) if outcome != "interrupted":
            return _after_turn(loop, at, node, outcome, detail)
        case _:
            return []


def _after_experiment(loop: Loop, at: int) -> list[Order]:
    worker = loop.last_ended
    if worker is None or not _idle(loop, worker):
        return []
    return [_ask(at, "worker", worker, "results")]


def _idle(loop: Loop, node: str) -> bool:
    """Whether a Worker or Reviewer still has its task and waits for nothing."""
    return node in loop.active and node not in loop.running.values()


def _after_turn(loop: Loop, at: int, node: str, outcome: str, detail: str) -> list[Order]:
    """Ask again after a failure, end a node that failed too often or did nothing."""
    if any(order.node == node for order in loop.due):
        return []
    role = _role(node)
    if role != "main" and not _idle(loop, node):
        return []
    if outcome == "failed" and loop.failures.get(node, 0) < loop.failures_allowed:
        return [_ask(at, role, node, "closing" if role == "main" else "created")]
    if role == "main":
        idle = not loop.active and not loop.claiming and not loop.running
        reason = detail or "Main took no further step"
        return [_finish(at, reason)] if idle else []
    kind: OrderKind = "finalise" if role == "worker" else "excuse"
    reason = detail or "the turn ended without an action that goes on"
    return [Order(f"{kind}-{node}@{at}", kind, role, node, "closing", reason)]


def _ask_main(loop: Loop, at: int, trigger: Trigger) -> list[Order]:
    """One waiting question to Main is enough: it looks at the whole state when its turn comes."""
    waiting = any(o.node == "main" and o.id not in loop.started for o in loop.due)
    return [] if waiting else [_ask(at, "main", "main", trigger)]


def _ask(at: int, role: TurnRole, node: str, trigger: Trigger) -> Order:
    return Order(f"{node}@{at}", "ask", role, node, trigger)


def _finish(at: int, reason: str) -> Order:
    return Order(f"finish@{at}", "finish", "main", "main", "closing", reason)


def _role(node: str) -> TurnRole:
    return "main" if node == "main" else "worker" if node.startswith("w") else "reviewer"
