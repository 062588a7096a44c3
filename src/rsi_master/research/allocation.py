"""Allocation: how many directions a budget affords; a floor lets none be closed untested."""

import math
from collections.abc import Mapping

from rsi_master.core.action import Amounts
from rsi_master.core.contract import Contract
from rsi_master.core.experiment import BASE
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
    """What Main may open now. Workers, means and time for the verifications are kept back."""
    research, left = contract.research, state.books.left()
    clock = contract.budget.wall_seconds - state.wall(state.at)
    spare = clock - conclusion(state, contract)
    step = max(_seconds(state).values(), default=0.0)
    fit = lanes(contract) * int(spare / step) if step else research.parallel_workers
    total = contract.budget.experiments
    wanted = min(directions(total), len(contract.policy.sources))
    each = max(1, min(research.experiments_per_worker, int(EXPLORING * total) // wanted))
    slots = research.parallel_workers - len(state.active_workers())
    workers_left = research.workers - len(state.graph.workers())
    kept = min(verifications(contract), research.workers // 2)
    one = state.costs.scoring.plus(Amounts(experiments=1))
    spent = bool(left.lacking(reserve(state, contract).plus(one)))
    return Limits(
        directions=wanted,
        workers_now=max(0, min(slots, workers_left - kept, fit)),
        verifying_now=max(0, min(slots, workers_left)),
        experiments_each=each,
        verifications=0
        if closing or too_late(state, clock)
        else max(0, min(left.experiments, workers_left)),
        promoted=contract.policy.promoted,
        seeds=contract.policy.seeds_of_promotion,
        closing=closing or spare < step or spent,
    )


def verifications(contract: Contract) -> int:
    """How many lineages are trained again: each promoted recipe on each fresh seed, as far as the
    share of the experiments goes that is not for exploring."""
    share = int((1 - EXPLORING) * contract.budget.experiments)
    return max(1, min(contract.policy.promoted * contract.policy.seeds_of_promotion, share))


def reserve(state: State, contract: Contract) -> Amounts:
    """What the verifications may cost: the most experiments, evaluations and device seconds that
    any lineage takes, its trainings as they were reserved, scored each. Before there is any
    lineage, one experiment each."""
    one = state.costs.scoring.plus(Amounts(experiments=1))
    costs = {
        name: one.plus(Amounts(device_seconds=known.queued.seconds))
        for name, known in state.experiments.items()
        if known.queued is not None
    }
    dearest = one
    for name in costs:
        whole = Amounts()
        for step in (name, *ancestors(state, name)):
            whole = whole.plus(costs.get(step, Amounts()))
        dearest = dearest.most(whole)
    total = Amounts()
    for _ in range(verifications(contract)):
        total = total.plus(dearest)
    return total


def conclusion(state: State, contract: Contract) -> float:
    """Seconds on the clock that it takes to verify and claim the dearest lineage with one more step
    than it has, at the pace of its trainings so far, on the devices that there are. The claim
    scores about as much as the base was scored on.

    Other leaders are not counted: to go on from what leads is worth more than to verify two of what
    was there before. They are verified as far as the time goes then.
    """
    seconds = _seconds(state)
    lineage = max((_along(state, name, seconds) for name in seconds), default=0.0)
    rounds = math.ceil(contract.policy.seeds_of_promotion / lanes(contract))
    step = max(seconds.values(), default=0.0)
    base = state.experiments.get(BASE)
    claim = base.device_seconds() if base is not None else 0.0
    return rounds * (lineage + step) + claim


def lanes(contract: Contract) -> int:
    """How many trainings go on at once."""
    return min(contract.devices.slots, contract.research.parallel_workers)


def too_late(state: State, left: float) -> bool:
    """Whether something can be claimed already, and the `left` seconds are less than the dearest
    step took: another verification would be cut off by the clock."""
    claimable = any(
        one.evaluation is not None and one.queued is not None and one.queued.purpose == "verify"
        for one in state.experiments.values()
    )
    return claimable and left < max(_seconds(state).values(), default=0.0)


def _seconds(state: State) -> dict[str, float]:
    """The device seconds of all that was trained."""
    trained = (one for one in state.experiments.values() if one.checkpoint is not None)
    return {one.id: one.device_seconds() for one in trained}


def _along(state: State, name: str, seconds: Mapping[str, float]) -> float:
    return sum(seconds.get(one, 0.0) for one in (name, *ancestors(state, name)))
