"""A choice of Main as one sentence: what it did, and the reason that it gave."""

from rsi_master.core.choice import Choice
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    ReviewRequested,
    WorkerCreated,
)
from rsi_master.core.run import ClaimOpened
from rsi_master.core.text import line
from rsi_master.interfaces import words


def decision(made: Choice) -> str:
    """`closes w1: r1: another direction is shown to be better`, on one line."""
    return line(f"{_what(made)}: {_why(made)}")


def _what(made: Choice) -> str:
    if isinstance(made, WorkerCreated):
        return f"opens {made.node} ({made.direction})"
    if isinstance(made, ReviewRequested):
        return f"asks {made.node} to review {words.listed(made.scope)}"
    if isinstance(made, DirectionClosed):
        return f"closes {made.node}"
    if isinstance(made, DirectionReopened):
        return f"reopens {made.node}"
    if isinstance(made, ClaimOpened):
        return f"claims {words.short(made.experiment)} and opens the holdout"
    return "finishes"


def _why(made: Choice) -> str:
    """In Main's own words where the record has them; what is claimed follows from the ranking."""
    if isinstance(made, WorkerCreated):
        return made.hypothesis
    if isinstance(made, ReviewRequested):
        return made.question
    if isinstance(made, ClaimOpened):
        return "it ranks first of what was verified"
    return made.reason
