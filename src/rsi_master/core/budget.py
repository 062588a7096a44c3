"""The budget as a projection: what is reserved and spent, by whom. Never negative.

A reservation belongs to an intent, and passes to the experiment or claim that the intent started.
"""

from dataclasses import dataclass, field

from rsi_master.core.action import Amounts
from rsi_master.core.contract import Budget

ZERO = Amounts()


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
