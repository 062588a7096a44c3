"""The closed set of facts that a ledger may hold, and the artifacts that each one names."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from rsi_master.core.artifact import Artifact
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Codec, Event, Fact
from rsi_master.core.experiment import (
    AttemptEnded,
    AttemptFenced,
    AttemptPlanned,
    CancelAsked,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    ReviewRequested,
    ReviewSubmitted,
    WorkerCreated,
    WorkerFinalised,
)
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import (
    ActionDenied,
    ActionIntended,
    ActionRead,
    ActionSettled,
    ClaimFailed,
    ClaimOpened,
    ClaimScored,
    FinishAsked,
    GuidanceGiven,
    OwnerStarted,
    RunFinished,
    RunOpened,
    RunPaused,
    RunUnpaused,
    StopAsked,
    TurnEnded,
    TurnStarted,
)

FACTS: tuple[type[Fact], ...] = (
    RunOpened,
    OwnerStarted,
    ActionIntended,
    ActionDenied,
    ActionRead,
    ActionSettled,
    TurnStarted,
    TurnEnded,
    DatasetRegistered,
    DatasetRefused,
    ExperimentQueued,
    AttemptPlanned,
    AttemptEnded,
    AttemptFenced,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentEnded,
    CancelAsked,
    IntegritySet,
    ProbeRecorded,
    ProbeFailed,
    MakingEnded,
    ProgramAdded,
    WorkerCreated,
    WorkerFinalised,
    ReviewRequested,
    ReviewSubmitted,
    DirectionClosed,
    DirectionReopened,
    GuidanceGiven,
    ClaimOpened,
    ClaimScored,
    ClaimFailed,
    FinishAsked,
    StopAsked,
    RunPaused,
    RunUnpaused,
    RunFinished,
)

CODEC = Codec(FACTS)


def artifacts(event: Event) -> tuple[Artifact, ...]:
    """Every artifact that the event says is stored, in field order."""
    return tuple(_walk(event.fact))


def _walk(value: object) -> Iterator[Artifact]:
    if isinstance(value, Artifact):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _walk(getattr(value, name))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _walk(inner)
    elif isinstance(value, tuple):
        for inner in value:
            yield from _walk(inner)
