"""Allocation: how many directions a budget affords; a floor lets none be closed untested."""

from rsi_master.core.action import Amounts
from rsi_master.core.contract import Contract
from rsi_master.core.state import State
from rsi_master.core.turn import Limits

FLOOR = 3
EXPLORING = 0.6
FEWEST_DIRECTIONS = 2


def directions(experiments: int) -> int:
    """At most ⌊0.6·T/3⌋ families for T experiments: each gets the floor of three, and a reserve
    stays for following evidence. At least two, which then share what there is."""
    return max(FEWEST_DIRECTIONS, int(EXPLORING * experiments / FLOOR))


def limits(state: State, contract: Contract, closing: bool) -> Limits:
    """What Main may open now."""
    research, left = contract.research, state.books.left()
    one = state.costs.scoring.plus(Amounts(experiments=1))
    explored_and_verified = one.plus(one)
    total = contract.budget.experiments
    wanted = min(directions(total), len(contract.policy.sources))
    each = max(1, min(research.experiments_per_worker, int(EXPLORING * total) // wanted))
    slots = research.parallel_workers - len(state.active_workers())
    workers_left = research.workers - len(state.graph.workers())
    return Limits(
        directions=wanted,
        workers_now=max(0, min(slots, workers_left)),
        experiments_each=each,
        verifications=0 if closing else max(0, min(left.experiments, workers_left)),
        promoted=contract.policy.promoted,
        seeds=contract.policy.seeds_of_promotion,
        closing=closing or bool(left.lacking(explored_and_verified)),
    )
