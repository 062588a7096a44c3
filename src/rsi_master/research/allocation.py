"""Allocation: how many directions a budget affords; a floor lets none be closed untested."""

from rsi_master.core.action import Amounts
from rsi_master.core.contract import Contract
from rsi_master.core.state import State
from rsi_master.core.turn import Limits

FLOOR = 3
EXPLORING = 0.6
FEWEST_DIRECTIONS = 2


def directions(experiments: int) -> int:
    """At most ⌊0.6·T/3⌋ families for T experiments, and at least two: each gets the floor of
    three experiments and a reserve stays for following evidence."""
    return max(FEWEST_DIRECTIONS, int(EXPLORING * experiments / FLOOR))


def limits(state: State, contract: Contract, closing: bool) -> Limits:
    """What Main may open now."""
    research, left = contract.research, state.books.left()
    total = contract.budget.experiments
    wanted = directions(total)
    each = max(1, min(research.experiments_per_worker, int(EXPLORING * total) // wanted))
    slots = research.parallel_workers - len(state.active_workers())
    workers_left = research.workers - len(state.graph.workers())
    return Limits(
        directions=wanted,
        workers_now=max(0, min(slots, workers_left)),
        experiments_each=each,
        verifications=max(0, min(left.experiments, workers_left)),
        closing=closing or not left_for_one(left),
    )


def left_for_one(left: Amounts) -> bool:
    """Whether another experiment is thinkable."""
    return left.experiments >= 1 and left.evaluations >= 2 and left.device_seconds > 0
