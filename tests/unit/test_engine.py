"""The engine on the fake compute: retries, fences, refunds, cancellation, leases."""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from rsi_master.app.laws import laws
from rsi_master.core.action import OS
from rsi_master.core.errors import PolicyDenied, Refused
from rsi_master.core.experiment import AttemptEnded, AttemptFenced, AttemptPlanned, Experiment
from rsi_master.core.job import Ending, Job, JobStatus
from rsi_master.core.run import GuidanceGiven, OwnerStarted
from rsi_master.core.score import EvaluationResult, Split
from rsi_master.testing.compute import FakeCompute
from rsi_master.testing.rig import Rig, sketch_contract


class SteeredCompute(FakeCompute):
    """An engine that forgets the jobs in `hidden`, says of those in `endings` how they ended, and
    takes none of those in `unwanted`."""

    hidden: set[str]
    endings: dict[str, Ending]
    unwanted: set[str]

    def submit(self, job: Job) -> None:
        """Start the job, unless a test does not want it."""
        if job.name in self.unwanted:
            raise Refused("JOB_CLASS", f"job {job.name}: not here")
        super().submit(job)

    def poll(self, name: str) -> JobStatus:
        """What a test wants to be known of the job."""
        status = super().poll(name)
        if name in self.hidden:
            return JobStatus(name=name, state="unknown")
        if status.state == "ended" and name in self.endings:
            return status.model_copy(update={"ending": self.endings[name], "detail": "as wanted"})
        return status


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, compute=SteeredCompute)
    steered(rig).hidden, steered(rig).endings, steered(rig).unwanted = set(), {}, set()
    rig.score_base()
    yield rig
    for law in laws(rig.objects, rig.contract):
        assert list(law(rig.events())) == []
    rig.close()


def steered(rig: Rig) -> SteeredCompute:
    assert isinstance(rig.compute, SteeredCompute)
    return rig.compute


def started(rig: Rig, **settings: object) -> Experiment:
    """A submitted training."""
    data = rig.add()
    return rig.state.experiments[rig.submit(rig.open_worker(data), data, "base", **settings)]


def until(rig: Rig, condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit, "the engine does not get there"
        rig.tick()
        rig.wake.wait(0.002)


def endings(experiment: Experiment) -> list[tuple[str, str]]:
    return [(a.planned.job[-2:], a.ended.ending if a.ended else "") for a in experiment.attempts]


def refunded(rig: Rig, experiment: Experiment) -> bool:
    assert experiment.ended is not None
    return experiment.ended.spent.experiments == 0 and set(rig.state.books.held) == {"claim"}


def test_a_training_that_works_is_accepted_scored_and_settled(rig: Rig) -> None:
    experiment = started(rig)
    rig.settle()
    assert endings(experiment) == [("t1", "ok"), ("e1", "ok")]
    assert (experiment.lifecycle, experiment.integrity) == ("finished", "accepted")
    assert experiment.checkpoint is not None and experiment.evaluation is not None
    assert experiment.evaluation.weights == experiment.checkpoint.proof.weights
    books = rig.state.books
    assert set(books.held) == {"claim"}
    assert (books.spent.experiments, books.spent.evaluations) == (1, 4)


def test_what_the_engine_refuses_is_a_failed_attempt_and_the_owner_goes_on(rig: Rig) -> None:
    experiment = started(rig)
    steered(rig).unwanted.add(f"{experiment.id}.t1")
    rig.settle()
    assert endings(experiment) == [("t1", "refused"), ("t2", "ok"), ("e1", "ok")]
    refused = experiment.attempts[0].ended
    assert refused is not None
    assert (refused.seconds, refused.log) == (0.0, None)
    assert refused.detail == f"JOB_CLASS: job {experiment.id}.t1: not here"


def test_what_the_engine_always_refuses_costs_no_trial(rig: Rig) -> None:
    experiment = started(rig)
    tries = rig.contract.policy.attempts_per_experiment
    steered(rig).unwanted |= {f"{experiment.id}.t{fence}" for fence in range(1, tries + 1)}
    rig.settle()
    assert endings(experiment) == [(f"t{fence}", "refused") for fence in range(1, tries + 1)]
    assert experiment.ended is not None and experiment.ended.reason == "INFRASTRUCTURE"
    assert refunded(rig, experiment)
    assert rig.compute.free_devices() == rig.contract.devices.slots


def test_every_attempt_is_planned_before_the_engine_hears_of_it(rig: Rig) -> None:
    submitted: list[int] = []
    submit = rig.compute.submit

    def noting(job: Job) -> None:
        submitted.append(len(rig.facts(AttemptPlanned)))
        submit(job)

    rig.compute.submit = noting  # type: ignore[method-assign]
    started(rig)
    rig.settle()
    assert submitted == [2]


@pytest.mark.parametrize("ending", ["lost", "killed", "refused"])
def test_infrastructure_is_retried_under_a_higher_fence(rig: Rig, ending: Ending) -> None:
    experiment = started(rig)
    steered(rig).endings[f"{experiment.id}.t1"] = ending
    rig.settle()
    assert endings(experiment) == [("t1", ending), ("t2", "ok"), ("e1", "ok")]
    assert experiment.lifecycle == "finished"
    assert experiment.checkpoint is not None and experiment.checkpoint.fence == 2


def test_retries_are_bounded_and_the_trial_is_refunded(rig: Rig) -> None:
    experiment = started(rig)
    tries = rig.contract.policy.attempts_per_experiment
    for fence in range(1, tries + 2):
        steered(rig).endings[f"{experiment.id}.t{fence}"] = "killed"
    rig.settle()
    assert endings(experiment) == [(f"t{fence}", "killed") for fence in range(1, tries + 1)]
    assert experiment.ended is not None and experiment.ended.reason == "INFRASTRUCTURE"
    assert refunded(rig, experiment)


def test_a_refunded_trial_can_be_tried_again_and_a_used_one_can_not(tmp_path: Path) -> None:
    contract = sketch_contract(policy={"attempts_per_experiment": 1})
    rig = Rig(tmp_path, contract, compute=SteeredCompute)
    steered(rig).hidden, steered(rig).endings, steered(rig).unwanted = set(), {}, set()
    try:
        data = rig.add()
        node = rig.open_worker(data, experiments=1)
        first = rig.submit(node, data)
        steered(rig).endings[f"{first}.t1"] = "killed"
        rig.settle()
        second = rig.train(node, data)
        assert rig.state.experiments[second].lifecycle == "finished"
        with pytest.raises(PolicyDenied, match="all 1 experiments"):
            rig.submit(node, data, steps=4)
    finally:
        rig.close()


def test_a_training_that_crashes_is_a_result_and_not_retried(rig: Rig) -> None:
    experiment = started(rig, fault="exception")
    rig.settle()
    assert endings(experiment) == [("t1", "crashed")]
    assert experiment.ended is not None
    assert (experiment.lifecycle, experiment.ended.reason) == ("failed", "CRASHED")
    assert experiment.ended.spent.experiments == 1


@pytest.mark.parametrize(
    ("fault", "code"), [("no_change", "NO_CHANGE"), ("not_finite", "NOT_FINITE")]
)
def test_a_rejected_proof_fails_the_experiment_with_its_code(
    rig: Rig, fault: str, code: str
) -> None:
    experiment = started(rig, fault=fault)
    rig.settle()
    assert experiment.ended is not None
    assert (experiment.lifecycle, experiment.ended.reason) == ("failed", code)
    assert (experiment.checkpoint, experiment.integrity) == (None, "pending")
    assert experiment.ended.spent.device_seconds == pytest.approx(experiment.device_seconds())


def test_a_late_result_of_a_lost_attempt_is_fenced_and_ignored(rig: Rig) -> None:
    experiment = started(rig, pause=0.02)
    late = f"{experiment.id}.t1"
    until(rig, lambda: experiment.running() is not None)
    steered(rig).hidden.add(late)
    until(rig, lambda: experiment.fence("train") == 2)
    steered(rig).hidden.clear()
    rig.settle()
    until(rig, lambda: bool(rig.facts(AttemptFenced)))
    (fenced,) = rig.facts(AttemptFenced)
    assert (fenced.job, fenced.fence) == (late, 1)
    assert endings(experiment) == [("t1", "lost"), ("t2", "ok"), ("e1", "ok")]
    assert experiment.checkpoint is not None and experiment.checkpoint.fence == 2
    for _ in range(3):
        rig.tick()
    assert len(rig.facts(AttemptFenced)) == 1


def forgotten(rig: Rig) -> Experiment:
    """A training that the engine does not know any more, and that left no sign of life."""
    experiment = started(rig)
    until(rig, lambda: experiment.running() is not None)
    (attempt,) = experiment.attempts
    while rig.compute.poll(attempt.planned.job).state == "running":
        rig.compute.wait(0.01)
    steered(rig).hidden.add(attempt.planned.job)
    for path in rig.compute.output(attempt.planned.job).iterdir():
        path.unlink()
    return experiment


def later(rig: Rig, seconds: float, owner: bool = False) -> None:
    """An event after some time; with `owner` it is that of the next owner, or of a visitor."""
    rig.clock.at += seconds
    came = OwnerStarted(resumed=True, tier="none", platform="rig")
    rig.ledger.append(OS, (came if owner else GuidanceGiven(text="go on"),)).wait()


@pytest.mark.parametrize(("sign", "charged"), [(None, 2.0), (1.0, 2.0), (3.0, 3.0)])
def test_a_lost_attempt_costs_nothing_for_the_time_between_owners(
    rig: Rig, sign: float | None, charged: float
) -> None:
    experiment = forgotten(rig)
    assert experiment.queued is not None and experiment.queued.seconds > 2 * charged
    (attempt,) = experiment.attempts
    if sign is not None:
        metrics = rig.compute.output(attempt.planned.job) / "metrics.jsonl"
        metrics.write_text("")
        os.utime(metrics, (attempt.at + sign, attempt.at + sign))
    later(rig, 2.0)
    later(rig, 3600.0, owner=True)
    later(rig, 1.0)
    later(rig, 7200.0, owner=True)
    rig.clock.at += 5.0
    rig.settle()
    assert endings(experiment) == [("t1", "lost"), ("t2", "ok"), ("e1", "ok")]
    assert attempt.ended is not None and attempt.ended.seconds == charged


def test_an_attempt_that_its_own_owner_lost_costs_the_time_until_then_over_a_pause_too(
    rig: Rig,
) -> None:
    experiment = forgotten(rig)
    rig.operator().act("run.pause", reason="a look around")
    rig.clock.at += 1.0
    rig.operator().act("run.resume")
    rig.clock.at += 2.0
    rig.settle()
    (attempt, *_) = experiment.attempts
    assert attempt.ended is not None and attempt.ended.seconds == 3.0


def test_cancelling_stops_the_job_and_what_it_used_stays_spent(rig: Rig) -> None:
    experiment = started(rig, pause=5.0)
    until(rig, lambda: experiment.running() is not None)
    assert experiment.queued is not None
    rig.worker(experiment.queued.worker).act("experiment.cancel", experiment=experiment.id)
    rig.settle()
    assert experiment.ended is not None
    assert (experiment.lifecycle, experiment.ended.reason) in {
        ("cancelled", "CANCELLED"),
        ("failed", "CANCELLED"),
    }
    assert experiment.ended.spent.experiments == 1
    assert experiment.ended.spent.device_seconds == pytest.approx(experiment.device_seconds())
    assert rig.compute.free_devices() == rig.contract.devices.slots


def test_cancelling_before_the_start_costs_no_device_time(rig: Rig) -> None:
    experiment = started(rig)
    rig.operator().act("experiment.cancel", experiment=experiment.id)
    rig.settle()
    assert (experiment.lifecycle, experiment.attempts) == ("cancelled", [])


def test_a_sealed_process_that_dies_during_an_evaluation_is_asked_again(rig: Rig) -> None:
    experiment = started(rig)
    until(rig, lambda: experiment.lifecycle == "trained")
    rig.sealed.die()
    until(rig, lambda: any(e.stage == "evaluate" and e.ending == "lost" for e in ends(rig)))
    rig.sealed.restart()
    rig.settle()
    stages = [job for job, ending in endings(experiment) if ending == "lost"]
    assert stages and all(job.startswith("e") for job in stages)
    assert endings(experiment)[-1][1] == "ok"
    assert experiment.lifecycle == "finished"
    assert rig.compute.free_devices() == rig.contract.devices.slots


def ends(rig: Rig) -> list[AttemptEnded]:
    return rig.facts(AttemptEnded)


def test_a_sealed_process_that_stays_dead_costs_no_trial(rig: Rig) -> None:
    experiment = started(rig)
    until(rig, lambda: experiment.lifecycle == "trained")
    rig.sealed.die()
    rig.settle()
    assert experiment.ended is not None and experiment.ended.reason == "INFRASTRUCTURE"
    assert refunded(rig, experiment)
    rig.sealed.restart()


def test_an_evaluation_holds_a_device_and_gives_it_back(rig: Rig) -> None:
    gate, free = threading.Event(), list[int]()
    evaluate = rig.sealed.evaluate

    def slow(
        name: str, checkpoint: Path, splits: Sequence[Split], seconds: float | None = None
    ) -> EvaluationResult:
        free.append(rig.compute.free_devices())
        assert gate.wait(10)
        return evaluate(name, checkpoint, splits)

    rig.sealed.evaluate = slow  # type: ignore[method-assign]
    experiment = started(rig)
    until(rig, lambda: bool(free))
    assert experiment.lifecycle == "evaluating"
    assert free == [rig.contract.devices.slots - 1]
    gate.set()
    rig.settle()
    assert rig.compute.free_devices() == rig.contract.devices.slots


def test_no_more_runs_at_once_than_there_are_devices(rig: Rig) -> None:
    data = rig.add()
    node = rig.open_worker(data)
    names = [rig.submit(node, data, steps=steps, pause=0.01) for steps in (3, 4, 5)]
    rig.tick()
    assert [len(rig.state.experiments[name].attempts) for name in names] == [1, 1, 0]
    rig.settle()
    assert {rig.state.experiments[name].lifecycle for name in names} == {"finished"}


def test_nothing_starts_while_paused_or_closing(rig: Rig) -> None:
    experiment = started(rig)
    rig.operator().act("run.pause", reason="a look around")
    rig.tick()
    assert experiment.attempts == []
    rig.operator().act("run.resume")
    rig.engine.tick(starting=False)
    assert experiment.attempts == []
    rig.settle()
    assert experiment.lifecycle == "finished"


def test_an_interrupted_attempt_is_no_failure_of_it(rig: Rig) -> None:
    experiment = started(rig, pause=0.05)
    until(rig, lambda: experiment.running() is not None)
    rig.engine.interrupt()
    rig.sealed.restart()
    rig.settle()
    assert endings(experiment) == [("t1", "interrupted"), ("t2", "ok"), ("e1", "ok")]


@pytest.mark.parametrize(
    ("stop", "ending"),
    [
        (lambda rig: rig.engine.interrupt(), "interrupted"),
        (lambda rig: rig.engine.cancel_all("STOPPED"), "cancelled"),
    ],
)
def test_a_stop_keeps_the_log_of_what_it_ends_and_leaves_no_folder(
    rig: Rig, stop: Callable[[Rig], None], ending: Ending
) -> None:
    experiment = started(rig, pause=0.5)
    until(rig, lambda: experiment.running() is not None)
    (attempt,) = experiment.attempts
    out = rig.compute.output(attempt.planned.job)
    (out / "log.txt").write_text("half of it")
    stop(rig)
    rig.engine.close()
    assert endings(experiment) == [("t1", ending)]
    assert attempt.ended is not None and attempt.ended.log is not None
    assert rig.objects.get_bytes(attempt.ended.log.digest) == b"half of it"
    assert not out.parent.exists()


def test_a_stop_before_the_first_round_charges_what_a_dead_owner_used(rig: Rig) -> None:
    experiment = forgotten(rig)
    later(rig, 2.0)
    later(rig, 3600.0, owner=True)
    rig.engine.interrupt()
    (attempt,) = experiment.attempts
    assert attempt.ended is not None
    assert (attempt.ended.ending, attempt.ended.seconds) == ("lost", 2.0)


def test_cancelling_all_ends_what_is_queued_and_what_trains(rig: Rig) -> None:
    data = rig.add()
    node = rig.open_worker(data)
    names = [rig.submit(node, data, steps=steps, pause=5.0) for steps in (3, 4, 5)]
    rig.tick()
    rig.engine.cancel_all("STOPPED")
    found = [rig.state.experiments[name] for name in names]
    assert {e.lifecycle for e in found} == {"cancelled"}
    assert {e.ended.reason for e in found if e.ended} == {"STOPPED"}
    assert not rig.engine.busy()


def test_the_same_submission_gives_the_same_weights(rig: Rig, tmp_path: Path) -> None:
    def weights(one: Rig) -> str:
        experiment = started(one, noise=0.05)
        one.settle()
        assert experiment.checkpoint is not None
        return experiment.checkpoint.proof.weights

    folder = tmp_path / "other"
    folder.mkdir()
    other = Rig(folder)
    try:
        assert weights(rig) == weights(other)
    finally:
        other.close()
