"""Which signed heads a record implies: what it says happened, happened under a signature.

Without this, whoever removes the notes could cut or rewrite the events unseen. A run that ended
before its first full interval, and has neither a claim nor an end, promises nothing.
"""

from collections.abc import Sequence

from rsi_master.core.event import Event
from rsi_master.core.model import Value
from rsi_master.core.run import ClaimFailed, ClaimOpened, ClaimScored, RunFinished
from rsi_master.expos.notary import EVERY


class Promise(Value):
    """Some head must cover the first `size` events, and why."""

    size: int
    why: str


def promises(events: Sequence[Event], every: int = EVERY) -> tuple[Promise, ...]:
    """What events in order imply. The outcome of a claim implies that its opening was signed: the
    head is written between `claim.opened` and the opening itself."""
    full = len(events) // every * every
    found = [Promise(size=full, why=f"a head is signed every {every} events")] if full else []
    opened = 0
    for size, event in enumerate(events, 1):
        match event.fact:
            case ClaimOpened():
                opened = size
            case ClaimScored() | ClaimFailed() if opened:
                found.append(Promise(size=opened, why="the holdout is opened under a signed head"))
            case RunFinished():
                found.append(Promise(size=size, why="a finished run is signed to its end"))
    return tuple(found)
