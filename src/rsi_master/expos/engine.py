"""The engine room: carries experiments through their attempts, and a claim through its opening.

Each step is planned in the record before it is done and closed in the record after. `tick` is
called by the owner's loop; it never blocks on a job. Evaluations run one at a time in a thread of
their own, since the sealed process answers one request at a time.
"""

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rsi_master.core.action import OS
from rsi_master.core.artifact import Artifact
from rsi_master.core.canonical import encode
from rsi_master.core.errors import RsiError
from rsi_master.core.event import Fact
from rsi_master.core.experiment import (
    BASE,
    Attempt,
    AttemptEnded,
    AttemptPlanned,
    CheckpointStored,
    Experiment,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.job import Ending, JobStatus
from rsi_master.expos.attempts import Begin, Close, Poll, next_step
from rsi_master.expos.endings import attempt_ended, attempt_fenced, experiment_closed, spent
from rsi_master.expos.exam import Exam, Pair
from rsi_master.expos.harvest import Harvest
from rsi_master.expos.plant import Plant
from rsi_master.expos.scoring import Scoring, recorded


class Engine:
    """Drives all unfinished experiments by one step per tick."""

    def __init__(self, plant: Plant, lock: threading.RLock, wake: Callable[[], None]) -> None:
        self._plant = plant
        self._lock = lock
        self._wake = wake
        self._sealed_work = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sealed")
        self._leftover: list[tuple[int, str]] = [
            (0, attempt.planned.job)
            for experiment in plant.state.experiments.values()
            for attempt in experiment.attempts
            if attempt.ended is not None and attempt.planned.stage == "train"
        ]
        self._scoring = Scoring(plant, self._sealed_work, wake)
        self._harvest = Harvest(plant.objects, plant.trainer, plant.scratch)
        self._exam = Exam(plant, self._sealed_work, wake)

    def close(self) -> None:
        """Stop taking sealed work; what runs there ends with the sealed process."""
        self._sealed_work.shutdown(wait=True, cancel_futures=True)

    def tick(self, starting: bool = True) -> None:
        """One round: collect what ended, then start what may start."""
        with self._lock:
            experiments = list(self._plant.state.experiments.values())
            begins = [(e, self._advance(e)) for e in experiments]
            self._fence_late(experiments)
            self._sweep()
        for experiment, step in begins:
            if isinstance(step, Begin) and starting and not self._plant.state.paused:
                self._begin(experiment, step)
        self._advance_claim()

    def score_base(self) -> None:
        """Plan the evaluation of the base, experiment zero of every run."""
        with self._lock:
            if BASE not in self._plant.state.experiments:
                self._begin(Experiment(BASE, None), Begin("evaluate", 1))

    def cancel_all(self, reason: str) -> None:
        """End every unfinished experiment, for the budget or the operator."""
        with self._lock:
            for experiment in self._plant.state.unfinished():
                running = experiment.running()
                if running is not None and running.planned.stage == "train":
                    self._plant.compute.cancel(running.planned.job)
                    status = self._plant.compute.poll(running.planned.job)
                    self._append(self._ended(running, status, "cancelled", reason))
                elif running is not None:
                    continue
                self._append(self._closed(experiment, Close("cancelled", reason, "", False)))

    def interrupt(self) -> None:
        """Stop in good order: running attempts end as interrupted and are tried again later."""
        with self._lock:
            for experiment in self._plant.state.experiments.values():
                running = experiment.running()
                if running is None:
                    continue
                self._plant.compute.cancel(running.planned.job)
                status = self._plant.compute.poll(running.planned.job)
                self._append(self._ended(running, status, "interrupted", "the owner was stopped"))
        self._plant.sealed.close()

    def busy(self) -> bool:
        """Whether some attempt or opening is out."""
        with self._lock:
            state = self._plant.state
            running = any(e.running() for e in state.experiments.values())
            return running or (state.claim is not None and state.claimed is None)

    def _advance(self, experiment: Experiment) -> Begin | None:
        step = next_step(experiment, self._plant.contract.policy.attempts_per_experiment)
        if isinstance(step, Close):
            self._append(self._closed(experiment, step))
        elif isinstance(step, Poll):
            if step.attempt.planned.stage == "train":
                self._poll_training(experiment, step.attempt)
            else:
                self._poll_evaluation(experiment, step.attempt)
        elif isinstance(step, Begin):
            return step
        return None

    def _begin(self, experiment: Experiment, begin: Begin) -> None:
        plant = self._plant
        if plant.compute.free_devices() < 1:
            return
        name = begin.job(experiment.id)
        job = None
        spec: Artifact | None = None
        if begin.stage == "train" and experiment.queued is not None:
            job = plant.trainer.job(
                experiment.queued, name, self._weights_of(experiment.queued), _left(experiment)
            )
            spec = plant.objects.put_bytes("job", encode(job.model_dump(mode="json")))
        planned = AttemptPlanned(
            experiment=experiment.id,
            stage=begin.stage,
            fence=begin.fence,
            job=name,
            spec=spec,
        )
        with self._lock:
            ticket = plant.ledger.append(OS, (planned,))
        ticket.wait()
        if job is not None:
            plant.compute.submit(job)
            return
        self._scoring.begin(name, self._checkpoint_of(experiment))

    def _poll_training(self, experiment: Experiment, attempt: Attempt) -> None:
        plant = self._plant
        name = attempt.planned.job
        if experiment.cancel_asked:
            plant.compute.cancel(name)
        status = plant.compute.poll(name)
        if status.state == "running":
            return
        if status.state == "unknown":
            lost = JobStatus(name=name, state="unknown", detail="the engine does not know it")
            self._append(self._ended(attempt, lost, "lost", lost.detail))
        elif status.ending == "ok" and experiment.queued is not None:
            self._collect(experiment.queued, attempt, status)
        else:
            self._append(self._ended(attempt, status, status.ending or "lost", status.detail))

    def _collect(self, queued: ExperimentQueued, attempt: Attempt, status: JobStatus) -> None:
        """Judge the output and store it; end of attempt and checkpoint are one commit."""
        out = self._plant.compute.output(attempt.planned.job)
        fence = attempt.planned.fence
        found = self._harvest.checkpoint(queued, fence, self._weights_of(queued), out)
        ended = self._ended(attempt, status, "ok", "")
        if isinstance(found, CheckpointStored):
            accepted = IntegritySet(
                experiment=queued.experiment,
                integrity="accepted",
                reason="proof of work held",
                by="os",
            )
            self._append(ended, found, accepted)
            return
        close = ExperimentEnded(
            experiment=queued.experiment,
            lifecycle="failed",
            reason=found.code,
            detail=found.detail[:500],
            spent=spent(self._plant.state, queued.experiment, status.seconds, trials=1),
        )
        self._append(ended, close)

    def _poll_evaluation(self, experiment: Experiment, attempt: Attempt) -> None:
        name, fence = attempt.planned.job, attempt.planned.fence
        if not self._scoring.knows(name):
            gone = JobStatus(name=name, state="unknown")
            self._append(self._ended(attempt, gone, "lost", "the owner that asked for it is gone"))
            return
        result = self._scoring.take(name)
        if isinstance(result, RsiError):
            status = JobStatus(name=name, state="ended")
            self._append(self._ended(attempt, status, "lost", result.message))
        elif result is not None:
            status = JobStatus(name=name, state="ended", seconds=result.seconds)
            trials = 0 if experiment.id == BASE else 1
            end = ExperimentEnded(
                experiment=experiment.id,
                lifecycle="finished",
                reason="OK",
                detail="",
                spent=spent(self._plant.state, experiment.id, result.seconds, trials),
            )
            fact = recorded(self._plant.objects, experiment.id, fence, result)
            self._append(self._ended(attempt, status, "ok", ""), fact, end)

    def _advance_claim(self) -> None:
        plant = self._plant
        with self._lock:
            claim = plant.state.claim
            if claim is None or plant.state.claimed is not None:
                return
            pair = Pair(
                self._checkpoint_of(plant.state.experiments[claim.experiment]), self._base()
            )
            outcome = self._exam.advance(claim, pair)
            if outcome is not None:
                self._append(outcome)

    def _fence_late(self, experiments: list[Experiment]) -> None:
        """A lost attempt that shows up after all is kept in the record and ignored."""
        for experiment in experiments:
            for attempt in experiment.attempts:
                if attempt.ended is None or attempt.ended.ending != "lost" or attempt.fenced:
                    continue
                status = self._plant.compute.poll(attempt.planned.job)
                if status.state == "running":
                    self._plant.compute.cancel(attempt.planned.job)
                elif status.state == "ended":
                    self._append(attempt_fenced(attempt, status))

    def _sweep(self) -> None:
        """Folders of ended attempts go once their end is durable."""
        waiting = []
        for position, job in self._leftover:
            if self._plant.ledger.wait_beyond(position - 1, 0):
                shutil.rmtree(self._plant.compute.output(job).parent, ignore_errors=True)
            else:
                waiting.append((position, job))
        self._leftover = waiting

    def _ended(
        self, attempt: Attempt, status: JobStatus, ending: Ending, detail: str
    ) -> AttemptEnded:
        log = None
        if attempt.planned.stage == "train":
            log = self._harvest.log(self._plant.compute.output(attempt.planned.job))
        return attempt_ended(attempt, status, ending, detail, log)

    def _closed(self, experiment: Experiment, step: Close) -> ExperimentEnded:
        return experiment_closed(self._plant.state, experiment.id, step)

    def _weights_of(self, queued: ExperimentQueued) -> str:
        """Digest of θ_in."""
        if queued.init == BASE:
            return self._base()
        return self._checkpoint_of(self._plant.state.experiments[queued.init])

    def _checkpoint_of(self, experiment: Experiment) -> str:
        if experiment.checkpoint is None:
            return self._base()
        return experiment.checkpoint.artifact.digest

    def _base(self) -> str:
        opened = self._plant.state.opened
        assert opened is not None, "the run is opened before the engine starts"
        return opened.base.digest

    def _append(self, *facts: Fact) -> None:
        self._plant.ledger.append(OS, facts)
        self._leftover += [
            (self._plant.state.position, fact.job)
            for fact in facts
            if isinstance(fact, AttemptEnded) and fact.stage == "train"
        ]


def _left(experiment: Experiment) -> float:
    """Seconds of the reservation that former attempts have not used."""
    reserved = experiment.queued.seconds if experiment.queued else 0.0
    return max(1.0, reserved - experiment.device_seconds())
