"""What the next step of an experiment is: a pure rule over its recorded attempts.

Only the OS retries, and only when infrastructure failed; a training that crashed by itself is a
result. Each retry raises the fence.
"""

from dataclasses import dataclass

from rsi_master.core.experiment import BASE, Attempt, Experiment, Stage

INFRASTRUCTURE = frozenset({"lost", "killed", "refused", "interrupted"})


@dataclass(frozen=True)
class Begin:
    """Plan a new attempt of a stage under this fence."""

    stage: Stage
    fence: int

    def job(self, experiment: str) -> str:
        """The engine's name for the attempt."""
        return f"{experiment}.{self.stage[0]}{self.fence}"


@dataclass(frozen=True)
class Poll:
    """An attempt is out; ask the engine."""

    attempt: Attempt


@dataclass(frozen=True)
class Close:
    """End the experiment."""

    lifecycle: str
    reason: str
    detail: str
    refund: bool


Step = Begin | Poll | Close | None


def next_step(experiment: Experiment, tries: int) -> Step:
    """The step that the record calls for; None when the experiment has ended."""
    if experiment.ended is not None:
        return None
    running = experiment.running()
    if running is not None:
        return Poll(running)
    if experiment.cancel_asked:
        return Close("cancelled", "CANCELLED", "cancelled on request", refund=False)
    if experiment.checkpoint is None and experiment.id != BASE:
        return _stage(experiment, "train", tries)
    if experiment.evaluation is None:
        return _stage(experiment, "evaluate", tries)
    return Close("finished", "OK", "", refund=False)


def _stage(experiment: Experiment, stage: Stage, tries: int) -> Step:
    fence = experiment.fence(stage)
    if fence == 0:
        return Begin(stage, 1)
    ends = [a.ended for a in experiment.attempts if a.planned.stage == stage and a.ended]
    ended = ends[-1]
    if ended.ending in INFRASTRUCTURE:
        # An owner that was stopped in good order is no failure of the attempt.
        failed = sum(1 for end in ends if end.ending != "interrupted")
        if failed < tries:
            return Begin(stage, fence + 1)
        detail = f"{stage} failed {failed} times: {ended.detail}"
        return Close("failed", "INFRASTRUCTURE", detail, True)
    return Close("failed", ended.ending.upper(), ended.detail, refund=False)
