"""The laws that a sound record keeps, checked from its events alone, and that of the budget. Each
noun has its laws in a module of `expos/laws`."""

from collections.abc import Sequence

from rsi_master.core.action import Amounts
from rsi_master.core.budget import ZERO, Books
from rsi_master.core.contract import Budget
from rsi_master.core.event import Event
from rsi_master.core.experiment import AttemptEnded, ExperimentEnded
from rsi_master.core.run import ActionSettled, ClaimFailed, ClaimOpened, ClaimScored
from rsi_master.expos.laws.actions import intents_are_settled, nothing_after_the_end, work_is_paid
from rsi_master.expos.laws.claim import claims_are_verified, one_claim
from rsi_master.expos.laws.data import data_are_registered, made_data_has_a_job, programs_are_added
from rsi_master.expos.laws.experiments import (
    attempts_are_fenced,
    experiments_end_once,
    scores_are_of_the_weights,
)
from rsi_master.expos.laws.law import Check
from rsi_master.expos.laws.lineage import lineage_holds
from rsi_master.expos.laws.nodes import experiments_are_assigned, nodes_exist
from rsi_master.expos.order import Flaw

SLACK_SECONDS = 1.0

CHECKS: tuple[Check, ...] = (
    intents_are_settled,
    attempts_are_fenced,
    experiments_end_once,
    nodes_exist,
    experiments_are_assigned,
    lineage_holds,
    scores_are_of_the_weights,
    one_claim,
    claims_are_verified,
    work_is_paid,
    data_are_registered,
    programs_are_added,
    made_data_has_a_job,
    nothing_after_the_end,
)


def within(budget: Budget) -> Check:
    """The law that no more was spent than the contract allows. The end of a job is noticed a moment
    after its limit, so each attempt may add a second."""

    def spending_is_within(events: Sequence[Event]) -> list[Flaw]:
        limit, spent, attempts = Books.of(budget).limit, ZERO, 0
        for event in events:
            if isinstance(event.fact, ExperimentEnded | ClaimScored | ClaimFailed | ActionSettled):
                spent = spent.plus(event.fact.spent)
            attempts += isinstance(event.fact, AttemptEnded | ClaimOpened) or (
                isinstance(event.fact, ActionSettled) and event.fact.spent != ZERO
            )
        allowed = limit.plus(Amounts(device_seconds=SLACK_SECONDS * attempts))
        return [
            Flaw(
                code="OVERSPENT",
                where=f"budget.{name}",
                what=f"{getattr(spent, name):g} spent of {getattr(limit, name):g}",
            )
            for name in allowed.lacking(spent)
        ]

    return spending_is_within
