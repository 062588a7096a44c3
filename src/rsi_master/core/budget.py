"""The budget as a projection: what is reserved and spent, by whom. Never negative.

A reservation belongs to an intent, and passes to the experiment or claim that the intent started.
"""

import math
from dataclasses import dataclass, field

from rsi_master.core.action import Amounts
from rsi_master.core.contract import Budget, Contract

ZERO = Amounts()
CLAIM = "claim"
SPLITS_SCORED = 2


@dataclass(frozen=True)
class Costs:
    """Upper costs that the contract fixes: scoring one checkpoint on dev and confirm, scoring the
    base, and the claim. The last two are reserved from the opening of the run on."""

    scoring: Amounts
    base: Amounts
    claim: Amounts

    @staticmethod
    def of(contract: Contract) -> "Costs":
        """The costs under a contract; a claim scores champion and base once each."""
        seconds = contract.evaluator.seconds
        scoring = Amounts(device_seconds=seconds, evaluations=SPLITS_SCORED)
        claim = Amounts(device_seconds=2 * seconds, evaluations=2)
        return Costs(scoring=scoring, base=scoring, claim=claim)


def reservation(need: Amounts) -> Amounts:
    """The need, if it can be held; ValueError names a component that is negative or not finite."""
    for name, value in need:
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} = {value} cannot be reserved; it is negative or not finite")
    return need


@dataclass
class Books:
    """Reservations by holder and the total spent."""

    limit: Amounts
    spent: Amounts = ZERO
    held: dict[str, Amounts] = field(default_factory=dict)

    @staticmethod
    def of(budget: Budget) -> "Books":
        """Empty books under the contract's limits."""
        return Books(
            Amounts(
                device_seconds=budget.device_seconds,
                evaluations=budget.evaluations,
                experiments=budget.experiments,
            )
        )

    def reserved(self) -> Amounts:
        """Sum of what is held now."""
        total = ZERO
        for amount in self.held.values():
            total = total.plus(amount)
        return total

    def left(self) -> Amounts:
        """What a new reservation may still take."""
        return self.limit.minus(self.spent).minus(self.reserved())

    def hold(self, holder: str, amount: Amounts) -> None:
        """Reserve for a holder."""
        if amount != ZERO:
            self.held[holder] = amount

    def hand_over(self, holder: str, heir: str) -> None:
        """The reservation goes on under another name."""
        if holder in self.held:
            self.held[heir] = self.held.pop(holder)

    def settle(self, holder: str, spent: Amounts) -> None:
        """End a reservation; what was really used is spent."""
        self.held.pop(holder, None)
        self.spent = self.spent.plus(spent)
