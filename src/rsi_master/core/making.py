"""Jobs that actions wait for, as the record tells them."""

from rsi_master.core.action import NodeId
from rsi_master.core.artifact import Artifact
from rsi_master.core.event import Fact
from rsi_master.core.job import Ending, Tier


class MakingEnded(Fact):
    """A job that an action waited for has ended; `spec` is the whole job, `seconds` device time.

    `problem` says in one line why nothing came of it; its seconds are spent all the same.
    """

    type = "making.ended"

    intent: str
    worker: NodeId
    program: str
    spec: Artifact
    ending: Ending
    problem: str | None
    seconds: float
    tier: Tier | None
    devices: tuple[str, ...]
    log: Artifact | None
