"""The port that every filling of a role implements."""

from typing import Protocol

from rsi_master.core.turn import Ask
from rsi_master.expos.gateway import Session


class Agent(Protocol):
    """Acts once for each question, through the session alone.

    A turn must be repeatable: after a crash the same question is asked again, so an agent decides
    from what the record shows, not from what it remembers.
    """

    def act(self, ask: Ask, session: Session) -> None:
        """Take the actions that the question calls for. Exceptions end the turn as failed."""
