"""Allocation: how many directions a budget affords; a floor lets none be closed untested."""

from rsi_master.core.action import Amounts
from rsi_master.core.contract import Contract
from rsi_master.core.lineage import ancestors
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
    late = contract.budget.wall_seconds - state.wall(state.at) < conclusion(state, contract)
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
        closing=closing or late or bool(left.lacking(explored_and_verified)),
    )


def conclusion(state: State, contract: Contract) -> float:
    """Seconds on the clock that it takes to train the dearest lineage once more, and to verify and
    claim after that: as long as its trainings took, on the devices that there are."""
    seconds = {name: one.device_seconds() for name, one in state.experiments.items()}
    lineages = [
        sum(seconds.get(one, 0.0) for one in (name, *ancestors(state, name)))
        for name, experiment in state.experiments.items()
        if experiment.checkpoint is not None
    ]
    again = contract.policy.promoted * contract.policy.seeds_of_promotion
    lanes = min(contract.devices.slots, contract.research.parallel_workers, again)
    return max(lineages, default=0.0) * (1 + again / lanes)
