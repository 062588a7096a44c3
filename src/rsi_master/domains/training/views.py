"""What each role sees of an experiment: a closed type each, taken from one record."""

from rsi_master.core.artifact import Digest
from rsi_master.core.contract import Contract
from rsi_master.core.experiment import (
    CancelAsked,
    Experiment,
    ExperimentQueued,
    Integrity,
    Lifecycle,
    Proof,
    Purpose,
)
from rsi_master.core.model import Value
from rsi_master.core.score import SplitScore, present
from rsi_master.domains.training.curve import Point


class HandleView(Value):
    """The handle of long work."""

    experiment: str
    effective: Digest


class AttemptView(Value):
    """One attempt of an experiment."""

    job: str
    ending: str
    detail: str
    seconds: float


class WorkerExperimentView(Value):
    """What its Worker (or a successor) sees: aggregates of dev by task, the curve, the log end."""

    id: str
    worker: str
    lifecycle: Lifecycle
    integrity: Integrity
    reason: str
    detail: str
    recipe: dict[str, object]
    init: str
    merges: tuple[str, ...]
    data: tuple[Digest, ...]
    dev: SplitScore | None
    curve: tuple[Point, ...]
    log: str
    device_seconds: float


class ReviewerExperimentView(Value):
    """The raw record: configuration, provenance, proof, attempts, dev and confirm exactly."""

    id: str
    worker: str
    lifecycle: Lifecycle
    integrity: Integrity
    flag: str
    reason: str
    recipe: dict[str, object]
    family: str
    effective: str
    init: str
    merges: tuple[str, ...]
    data: tuple[Digest, ...]
    seed: int | None
    purpose: Purpose | None
    proof: Proof | None
    attempts: tuple[AttemptView, ...]
    dev: SplitScore | None
    confirm: SplitScore | None
    curve: tuple[Point, ...]


class MainExperimentView(Value):
    """A summary for planning."""

    id: str
    worker: str
    lifecycle: Lifecycle
    integrity: Integrity
    reason: str
    recipe: dict[str, object]
    family: str
    init: str
    merges: tuple[str, ...]
    data: tuple[Digest, ...]
    purpose: Purpose | None
    dev: SplitScore | None


class DoneView(Value):
    """The request is recorded."""

    experiment: str
    recorded: str


Record = tuple[Experiment, tuple[tuple[Point, ...], str]]


def handle(record: ExperimentQueued, _contract: Contract) -> HandleView:
    """The handle of a submission."""
    return HandleView(experiment=record.experiment, effective=record.effective)


def done(record: CancelAsked, _contract: Contract) -> DoneView:
    """The request was recorded."""
    return DoneView(experiment=record.experiment, recorded="cancel")


def worker_view(record: Record, contract: Contract) -> WorkerExperimentView:
    """Dev in the form of feedback that the contract gives."""
    experiment, (points, log) = record
    queued, ended = experiment.queued, experiment.ended
    dev = experiment.score("dev")
    rules_of_feedback = contract.evaluator
    return WorkerExperimentView(
        id=experiment.id,
        worker=experiment.worker(),
        lifecycle=experiment.lifecycle,
        integrity=experiment.integrity,
        reason=ended.reason if ended else "",
        detail=ended.detail if ended else "",
        recipe=queued.recipe if queued else {},
        init=queued.init if queued else "",
        merges=queued.merges if queued else (),
        data=queued.data if queued else (),
        dev=present(dev, rules_of_feedback.feedback, rules_of_feedback.feedback_step)
        if dev
        else None,
        curve=points,
        log=log,
        device_seconds=round(experiment.device_seconds(), 3),
    )


def reviewer_view(record: Record, _contract: Contract) -> ReviewerExperimentView:
    """The raw record."""
    experiment, (points, _log) = record
    queued, ended = experiment.queued, experiment.ended
    return ReviewerExperimentView(
        id=experiment.id,
        worker=experiment.worker(),
        lifecycle=experiment.lifecycle,
        integrity=experiment.integrity,
        flag=experiment.flag,
        reason=ended.reason if ended else "",
        recipe=queued.recipe if queued else {},
        family=queued.family if queued else "base",
        effective=queued.effective if queued else "",
        init=queued.init if queued else "",
        merges=queued.merges if queued else (),
        data=queued.data if queued else (),
        seed=queued.seed if queued else None,
        purpose=queued.purpose if queued else None,
        proof=experiment.checkpoint.proof if experiment.checkpoint else None,
        attempts=tuple(
            AttemptView(
                job=a.planned.job,
                ending=a.ended.ending if a.ended else "running",
                detail=a.ended.detail if a.ended else "",
                seconds=round(a.ended.seconds, 3) if a.ended else 0.0,
            )
            for a in experiment.attempts
        ),
        dev=experiment.score("dev"),
        confirm=experiment.score("confirm"),
        curve=points,
    )


def main_view(record: Record, contract: Contract) -> MainExperimentView:
    """The summary."""
    experiment, _ = record
    queued, ended = experiment.queued, experiment.ended
    dev = experiment.score("dev")
    form = contract.evaluator
    return MainExperimentView(
        id=experiment.id,
        worker=experiment.worker(),
        lifecycle=experiment.lifecycle,
        integrity=experiment.integrity,
        reason=ended.reason if ended else "",
        recipe=queued.recipe if queued else {},
        family=queued.family if queued else "base",
        init=queued.init if queued else "",
        merges=queued.merges if queued else (),
        data=queued.data if queued else (),
        purpose=queued.purpose if queued else None,
        dev=present(dev, form.feedback, form.feedback_step) if dev else None,
    )
