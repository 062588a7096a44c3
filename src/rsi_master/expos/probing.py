"""The queue of probes between the gateway and the engine: who asks waits here for the answers."""

from dataclasses import dataclass

from rsi_master.core.errors import RsiError
from rsi_master.core.probe import ProbeResult, Window
from rsi_master.expos.waiting import Queue


@dataclass(frozen=True)
class Probe:
    """A checkpoint by the digest of its artifact, the questions, and the device seconds that they
    may take; `name` is unique, `worker` waits."""

    name: str
    worker: str
    checkpoint: str
    window: Window
    seconds: float


@dataclass(frozen=True)
class Probed:
    """The device seconds that were used, and the answers or why there are none."""

    seconds: float
    result: ProbeResult | RsiError


class Probing(Queue[Probe, Probed]):
    """The queue of probes."""

    noun = "probe"
    busy = "PROBING"
