"""The engine room: carries experiments through their attempts, and a claim through its opening.

Each step is planned in the record before it is done and closed in the record after. `tick` is
called by the owner's loop; it never blocks on a job. Evaluations and probes run one at a time in a
thread of their own, since the sealed process answers one request at a time.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from rsi_master.core.action import OS
from rsi_master.core.artifact import Artifact
from rsi_master.core.canonical import encode
from rsi_master.core.errors import Broken, RsiError
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
    Rejection,
)
from rsi_master.core.job import Ending, Job, JobStatus
from rsi_master.core.score import EvaluationResult
from rsi_master.core.text import clean
from rsi_master.expos.attempts import Begin, Close, Poll, next_step
from rsi_master.expos.endings import attempt_ended, attempt_fenced, experiment_closed, left, spent
from rsi_master.expos.exam import Exam, Pair
from rsi_master.expos.harvest import Harvest, last_sign
from rsi_master.expos.maker import Maker
from rsi_master.expos.plant import Plant
from rsi_master.expos.prober import Prober
from rsi_master.expos.scoring import Scoring, recorded
from rsi_master.expos.tree import remove_tree
from rsi_master.expos.weights import base, checkpoint_of, tensors_of, weights_of

DURABLE_SECONDS = 5.0
"""How long a stop waits for the disk before it removes what is recorded."""


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
        self._prober = Prober(plant, self._sealed_work, wake)
        self._harvesters = ThreadPoolExecutor(max_workers=1, thread_name_prefix="harvest")
        self._maker = Maker(plant, wake)
        self._collected: dict[str, Future[CheckpointStored | Rejection]] = {}

    def close(self) -> None:
        """Stop taking work, end what actions wait for, and remove what ended attempts left; what
        runs in the sealed process ends with it."""
        self._plant.probing.close()
        self._maker.close()
        self._sealed_work.shutdown(wait=True, cancel_futures=True)
        self._harvesters.shutdown(wait=True, cancel_futures=True)
        self._plant.await_end([job for _, job in self._leftover])
        # Of a dead ledger nobody knows what is recorded: the next owner removes what can go.
        with contextlib.suppress(Broken):
            self._sweep(DURABLE_SECONDS)

    def tick(self, starting: bool = True) -> None:
        """One round: collect what ended, then start what may start."""
        with self._lock:
            experiments = list(self._plant.state.experiments.values())
            begins = [(e, self._advance(e)) for e in experiments]
            self._fence_late(experiments)
            self._sweep()
        going = starting and not self._plant.state.paused
        self._serve_actions(starting, going)
        for experiment, step in begins:
            if isinstance(step, Begin) and going:
                self._begin(experiment, step)
        self._advance_claim(begin=not self._plant.state.paused and not self._prober.busy())

    def score_base(self) -> None:
        """Plan the evaluation of the base, experiment zero of every run."""
        if BASE not in self._plant.state.experiments:
            self._begin(Experiment(BASE, None), Begin("evaluate", 1))

    def cancel_all(self, reason: str) -> None:
        """End every unfinished experiment, for the budget or the operator."""
        with self._lock:
            self._maker.cancel()
            unfinished = self._plant.state.unfinished()
            self._kill(unfinished)
            for experiment in unfinished:
                running = experiment.running()
                if running is not None and running.planned.stage == "evaluate":
                    continue
                if running is not None:
                    self._append(self._halted(experiment, running, "cancelled", reason))
                self._append(self._closed(experiment, Close("cancelled", reason, "", False)))

    def interrupt(self) -> None:
        """Stop in good order: running attempts end as interrupted and are tried again later."""
        with self._lock:
            experiments = list(self._plant.state.experiments.values())
            self._kill(experiments)
            for experiment in experiments:
                running = experiment.running()
                if running is not None:
                    reason = "the owner was stopped"
                    self._append(self._halted(experiment, running, "interrupted", reason))
        self._maker.close()
        self._plant.sealed.close()

    def busy(self) -> bool:
        """Whether some attempt or opening is out."""
        with self._lock:
            state = self._plant.state
            running = any(e.running() for e in state.experiments.values()) or self._prober.busy()
            running = running or self._maker.busy()
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
        waiting = self._scoring.busy() or self._prober.busy()
        if (begin.stage == "evaluate" and waiting) or plant.compute.free_devices() < 1:
            return
        name = begin.job(experiment.id)
        seconds = left(plant.state, experiment, begin.stage)
        if seconds <= 0:
            over = Close("failed", "OVER_RESERVATION", "its attempts used what was reserved", False)
            with self._lock:
                self._append(self._closed(experiment, over))
            return
        job = None
        spec: Artifact | None = None
        if begin.stage == "train" and experiment.queued is not None:
            job = self._job(experiment.queued, name, seconds)
            if job is None:
                return
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
        try:
            if job is not None:
                plant.compute.submit(job)
            else:
                self._scoring.begin(name, checkpoint_of(self._plant.state, experiment), seconds)
        except RsiError as problem:
            self._refused(plant.state.experiments[experiment.id], problem)

    def _refused(self, experiment: Experiment, problem: RsiError) -> None:
        """What the engine does not run is an attempt that failed, and no end of the owner."""
        detail = clean(f"{problem.code}: {problem.message}")
        with self._lock:
            attempt = experiment.running()
            assert attempt is not None, "it was planned a moment ago"
            status = JobStatus(name=attempt.planned.job, state="ended")
            self._append(attempt_ended(attempt, status, "refused", detail, log=None))

    def _job(self, queued: ExperimentQueued, name: str, seconds: float) -> Job | None:
        """The job of an attempt; a recipe that cannot make one fails its experiment."""
        try:
            parents = [weights_of(self._plant.state, parent) for parent in queued.parents()]
            return self._plant.trainer.job(queued, name, parents, seconds)
        except Exception as problem:  # noqa: BLE001 - the boundary to installed recipes
            detail = clean(f"{type(problem).__name__}: {problem}")
            close = Close("failed", "JOB_INVALID", detail, refund=False)
            with self._lock:
                experiment = self._plant.state.experiments[queued.experiment]
                self._append(self._closed(experiment, close))
            return None

    def _poll_training(self, experiment: Experiment, attempt: Attempt) -> None:
        plant = self._plant
        name = attempt.planned.job
        if experiment.cancel_asked:
            plant.compute.cancel(name)
        status = plant.compute.poll(name)
        if status.state == "running":
            return
        if status.state == "unknown":
            self._append(self._lost(experiment, attempt, "the engine does not know it"))
        elif status.ending == "ok" and experiment.queued is not None:
            self._collect(experiment.queued, attempt, status)
        else:
            self._append(self._ended(attempt, status, status.ending or "lost", status.detail))

    def _collect(self, queued: ExperimentQueued, attempt: Attempt, status: JobStatus) -> None:
        """Judge the output and store it, in a thread of its own since weights may be large; end of
        attempt and checkpoint are one commit."""
        name, fence = attempt.planned.job, attempt.planned.fence
        if name not in self._collected:
            out, init = self._plant.compute.output(name), weights_of(self._plant.state, queued.init)
            self._collected[name] = self._harvesters.submit(
                self._harvest.checkpoint, queued, fence, init, out
            )
            self._collected[name].add_done_callback(lambda _: self._wake())
        if not self._collected[name].done():
            return
        found = self._collected.pop(name).result()
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
            self._append(self._lost(experiment, attempt, "the owner that asked for it is gone"))
            return
        seconds, result = self._scoring.take(name)
        if isinstance(result, EvaluationResult) and result.weights != tensors_of(
            self._plant.state, experiment
        ):
            result = Broken("OTHER_WEIGHTS", "the weights that were scored are not those trained")
        if isinstance(result, RsiError):
            status = JobStatus(name=name, state="ended", seconds=seconds)
            self._append(self._ended(attempt, status, "lost", result.message))
        elif result is not None and experiment.cancel_asked:
            status = JobStatus(name=name, state="ended", seconds=seconds)
            self._append(self._ended(attempt, status, "cancelled", "cancelled on request"))
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

    def _serve_actions(self, starting: bool, going: bool) -> None:
        """Begin what actions wait for, a probe between evaluations; an opening of the holdout comes
        first."""
        plant, state = self._plant, self._plant.state
        self._maker.poll()
        if not starting:
            for queue in (plant.probing, plant.making):
                queue.refuse("nothing new is begun in this run any more; finalise")
        if not going or (state.claim is not None and state.claimed is None):
            return
        if not self._scoring.busy():
            self._prober.begin()
        self._maker.begin()

    def _advance_claim(self, begin: bool) -> None:
        """Carry an opening on, once the claim is durable: the record comes before the effect."""
        state = self._plant.state
        claim = state.claim
        if claim is None or state.claimed is not None:
            return
        if not self._plant.ledger.wait_beyond(state.claim_position - 1, 0):
            return
        champion = state.experiments[claim.experiment]
        pair = Pair(checkpoint_of(state, champion), base(state), tensors_of(state, champion))
        outcome = self._exam.advance(claim, pair, begin)
        if outcome is not None:
            with self._lock:
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

    def _kill(self, experiments: Iterable[Experiment]) -> None:
        """Kill the jobs of running attempts, and have them gone before their ends are told."""
        running = [e.running() for e in experiments]
        names = [attempt.planned.job for attempt in running if attempt is not None]
        for name in names:
            self._plant.compute.cancel(name)
        self._plant.await_end(names)

    def _sweep(self, seconds: float = 0.0) -> None:
        """Folders of ended attempts go once their job is gone and their end is durable, which is
        waited for at most so long."""
        waiting = []
        for position, job in self._leftover:
            gone = self._plant.compute.poll(job).state != "running"
            if gone and self._plant.ledger.wait_beyond(position - 1, seconds):
                remove_tree(self._plant.compute.output(job).parent)
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

    def _halted(
        self, experiment: Experiment, attempt: Attempt, ending: Ending, reason: str
    ) -> AttemptEnded:
        """The end of a running attempt that was killed. One of a former owner that nobody has asked
        after since is lost."""
        if attempt.left is not None:
            return self._lost(experiment, attempt, "the owner that planned it is gone")
        status = self._plant.compute.poll(attempt.planned.job)
        return self._ended(attempt, status, ending, reason)

    def _lost(self, experiment: Experiment, attempt: Attempt, detail: str) -> AttemptEnded:
        """The end of an attempt that nobody measured: it is charged up to its last sign of life,
        at most what was left for it."""
        planned, until = attempt.planned, attempt.left
        if until is None:
            until = self._plant.clock.now()
        elif planned.stage == "train":
            until = max(until, last_sign(self._plant.compute.output(planned.job)))
        most = left(self._plant.state, experiment, planned.stage)
        seconds = min(max(0.0, until - attempt.at), most)
        status = JobStatus(name=planned.job, state="unknown", seconds=seconds)
        return self._ended(attempt, status, "lost", detail)

    def _closed(self, experiment: Experiment, step: Close) -> ExperimentEnded:
        return experiment_closed(self._plant.state, experiment.id, step)

    def _append(self, *facts: Fact) -> None:
        self._plant.ledger.append(OS, facts)
        self._leftover += [
            (self._plant.state.position, fact.job)
            for fact in facts
            if isinstance(fact, AttemptEnded) and fact.stage == "train"
        ]
