"""Experiments: z = (θ_in, action with data and configuration, θ_out, evidence).

Lifecycle and integrity are apart. Each try of the training or of the evaluation is an attempt
with a fence: a counter that rises, so that a late result of an old attempt is told from the
current one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from rsi_master.core.action import Amounts, NodeId
from rsi_master.core.artifact import Artifact, Digest
from rsi_master.core.event import Fact
from rsi_master.core.job import Ending, Tier
from rsi_master.core.model import Value
from rsi_master.core.score import Split, SplitScore
from rsi_master.core.text import clean

Lifecycle = Literal[
    "queued", "training", "trained", "evaluating", "finished", "failed", "cancelled"
]
Integrity = Literal["pending", "accepted", "flagged"]
Stage = Literal["train", "evaluate"]
Purpose = Literal["explore", "verify"]
BASE = "base"
ExperimentId = Annotated[str, Field(pattern=r"^(base|[0-9a-f-]{8,36})$")]
"""The base, or an experiment by its id."""


class Proof(Value):
    """Evidence that a training worked, read from its outputs by the OS itself."""

    steps: int
    supervised_tokens: int
    total_tokens: int
    change: dict[str, float]
    tokenizer_length: int | None
    final_loss: float | None
    weights: Digest


class Rejection(Value):
    """Why an output is no checkpoint: a stable reason code and one line of fit text."""

    code: str
    detail: Annotated[str, AfterValidator(clean)]


class ExperimentQueued(Fact):
    """A Worker submitted a training or a merge; it waits for a device. A merge has no data, and
    `merges` are the checkpoints that it joins with θ_in; version 1 knew none.
    """

    type = "experiment.queued"
    version = 2

    experiment: str
    worker: NodeId
    recipe: dict[str, object]
    family: str
    effective: Digest
    init: str
    merges: tuple[str, ...]
    data: tuple[Digest, ...]
    rows: int
    seed: int
    purpose: Purpose
    replicates: str | None
    seconds: float
    intent: str

    @classmethod
    def upcast(cls, version: int, fields: Mapping[str, object]) -> Mapping[str, object]:
        """See `Fact`."""
        if version != 1:
            return super().upcast(version, fields)
        return cls.extended(fields, merges=())

    def parents(self) -> tuple[str, ...]:
        """What it continues: θ_in, and the checkpoints that are merged with it."""
        return (self.init, *self.merges)


class AttemptPlanned(Fact):
    """An attempt is about to be handed to an engine under this name."""

    type = "attempt.planned"

    experiment: str
    stage: Stage
    fence: int
    job: str
    spec: Artifact | None


class AttemptEnded(Fact):
    """The engine said how the attempt ended; `seconds` is device time."""

    type = "attempt.ended"

    experiment: str
    stage: Stage
    fence: int
    job: str
    ending: Ending
    detail: str
    seconds: float
    tier: Tier | None
    devices: tuple[str, ...] = ()
    log: Artifact | None = None


class AttemptFenced(Fact):
    """A result came for an attempt that is no longer the current one; it is kept and ignored."""

    type = "attempt.fenced"

    experiment: str
    stage: Stage
    fence: int
    job: str
    detail: str


class CheckpointStored(Fact):
    """θ_out exists: the proof of work held and the weights are an artifact."""

    type = "checkpoint.stored"

    experiment: str
    fence: int
    artifact: Artifact
    proof: Proof
    adapter: Artifact | None
    metrics: Artifact


class EvaluationRecorded(Fact):
    """The sealed process scored a checkpoint; per-item verdicts lie in the artifacts by split."""

    type = "evaluation.recorded"

    experiment: str
    fence: int
    scores: tuple[SplitScore, ...]
    outputs: dict[Split, Artifact]
    weights: Digest
    protocol: Digest


class ExperimentEnded(Fact):
    """The end of the lifecycle. A failure of infrastructure refunds the trial."""

    type = "experiment.ended"

    experiment: str
    lifecycle: Literal["finished", "failed", "cancelled"]
    reason: str
    detail: str
    spent: Amounts


class CancelAsked(Fact):
    """Somebody who may asked to stop the experiment."""

    type = "experiment.cancel_asked"

    experiment: str
    by: NodeId


class IntegritySet(Fact):
    """Acceptance by the OS's own checks, or a flag by adjudication. A flag is never taken back by
    the OS and taints all that continues the experiment."""

    type = "integrity.set"

    experiment: str
    integrity: Literal["accepted", "flagged"]
    reason: str
    by: NodeId


@dataclass
class Attempt:
    """One planned attempt and, once known, its end. `left` is when the owner that planned it
    recorded its last event, known once another one has come while the attempt was open."""

    planned: AttemptPlanned
    at: float = 0.0
    left: float | None = None
    ended: AttemptEnded | None = None
    fenced: bool = False


@dataclass
class Experiment:
    """The projection of one experiment's facts."""

    id: str
    queued: ExperimentQueued | None
    attempts: list[Attempt] = field(default_factory=list)
    lifecycle: Lifecycle = "queued"
    integrity: Integrity = "pending"
    flag: str = ""
    checkpoint: CheckpointStored | None = None
    evaluation: EvaluationRecorded | None = None
    ended: ExperimentEnded | None = None
    cancel_asked: bool = False

    def fence(self, stage: Stage) -> int:
        """The current fence of a stage; 0 before the first attempt."""
        return max((a.planned.fence for a in self.attempts if a.planned.stage == stage), default=0)

    def running(self) -> Attempt | None:
        """The attempt without an end, if any."""
        return next((a for a in self.attempts if a.ended is None), None)

    def device_seconds(self) -> float:
        """Device time of all ended attempts."""
        return sum(a.ended.seconds for a in self.attempts if a.ended is not None)

    def score(self, split: Split) -> SplitScore | None:
        """The recorded score on a split."""
        if self.evaluation is None:
            return None
        return next((s for s in self.evaluation.scores if s.split == split), None)

    def worker(self) -> str:
        """The node that owns it; the OS owns the base."""
        return self.queued.worker if self.queued else "os"
