"""What Main decides: the course of the research, apart from what others do in it."""

from typing import TypeAlias

from rsi_master.core.action import Role
from rsi_master.core.event import Event
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    ReviewRequested,
    WorkerCreated,
)
from rsi_master.core.run import ClaimOpened, FinishAsked

Choice: TypeAlias = (
    WorkerCreated
    | DirectionClosed
    | DirectionReopened
    | ReviewRequested
    | ClaimOpened
    | FinishAsked
)


def choice(event: Event) -> Choice | None:
    """What Main chose in this event; None for all else, and where another decided in its place."""
    if event.caller.role == Role.MAIN and isinstance(event.fact, Choice):
        return event.fact
    return None
