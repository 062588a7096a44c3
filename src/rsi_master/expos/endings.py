"""The facts that end attempts and experiments, and what an experiment has used by then."""

from typing import Literal

from rsi_master.core.action import Amounts
from rsi_master.core.artifact import Artifact
from rsi_master.core.experiment import (
    Attempt,
    AttemptEnded,
    AttemptFenced,
    Experiment,
    ExperimentEnded,
    Stage,
)
from rsi_master.core.job import Ending, JobStatus
from rsi_master.core.score import Split
from rsi_master.core.state import State
from rsi_master.expos.attempts import Close

EVALUATED: tuple[Split, ...] = ("dev", "confirm")
DETAIL_CHARS = 500


def attempt_ended(
    attempt: Attempt, status: JobStatus, ending: Ending, detail: str, log: Artifact | None
) -> AttemptEnded:
    """How an attempt ended, with what the engine measured."""
    planned = attempt.planned
    return AttemptEnded(
        experiment=planned.experiment,
        stage=planned.stage,
        fence=planned.fence,
        job=planned.job,
        ending=ending,
        detail=detail[:DETAIL_CHARS],
        seconds=status.seconds,
        tier=status.tier,
        devices=status.devices,
        log=log,
    )


def attempt_fenced(attempt: Attempt, status: JobStatus) -> AttemptFenced:
    """A result that came after the attempt was given up."""
    planned = attempt.planned
    return AttemptFenced(
        experiment=planned.experiment,
        stage=planned.stage,
        fence=planned.fence,
        job=planned.job,
        detail=f"ended {status.ending} after it was given up",
    )


def experiment_closed(state: State, experiment: str, step: Close) -> ExperimentEnded:
    """The end of an experiment that gave no score; a refund gives its trial back."""
    lifecycle: Literal["failed", "cancelled"] = (
        "cancelled" if step.lifecycle == "cancelled" else "failed"
    )
    return ExperimentEnded(
        experiment=experiment,
        lifecycle=lifecycle,
        reason=step.reason,
        detail=step.detail[:DETAIL_CHARS],
        spent=spent(state, experiment, 0.0, trials=0 if step.refund else 1),
    )


def left(state: State, experiment: Experiment, stage: Stage) -> float:
    """Seconds of what is reserved for a stage that former attempts have not used."""
    reserved = state.costs.scoring.device_seconds
    if stage == "train":
        reserved = experiment.queued.seconds if experiment.queued else 0.0
    ended = [a.ended for a in experiment.attempts if a.planned.stage == stage]
    return reserved - sum(end.seconds for end in ended if end is not None)


def spent(state: State, experiment: str, more: float, trials: int) -> Amounts:
    """What its attempts used, and `more` device seconds of the attempt that ends with it."""
    known = state.experiments.get(experiment)
    attempts = known.attempts if known else []
    evaluated = any(attempt.planned.stage == "evaluate" for attempt in attempts)
    return Amounts(
        device_seconds=(known.device_seconds() if known else 0.0) + more,
        evaluations=len(EVALUATED) if evaluated else 0,
        experiments=trials,
    )
