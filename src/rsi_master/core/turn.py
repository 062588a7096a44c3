"""A turn: one question to a role, with the limits that hold. The answer is the actions it takes."""

from rsi_master.core.action import NodeId
from rsi_master.core.model import Value
from rsi_master.core.run import Trigger, TurnRole


class Limits(Value):
    """What allocation allows now; code computes it, roles choose within it.

    `workers_now` may explore, `verifying_now` verify: some Workers are kept for that. `closing`:
    nothing more is explored. `verifications` may go on while they are above 0; at most `promoted`
    recipes are verified, on `seeds` fresh seeds each.
    """

    directions: int
    workers_now: int
    verifying_now: int
    experiments_each: int
    verifications: int
    promoted: int
    seeds: int
    closing: bool


class Ask(Value):
    """One question; `order` is its id in the record."""

    order: str
    role: TurnRole
    node: NodeId
    trigger: Trigger
    limits: Limits
