"""Probes: open questions, whole outputs, paid in device seconds, in turns with evaluations."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from rsi_master.app.laws import laws
from rsi_master.core.action import Amounts
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Broken, Misuse, OverBudget, PolicyDenied, RsiError
from rsi_master.core.model import Value
from rsi_master.core.probe import ProbeFailed, ProbeRecorded, ProbeResult, Window
from rsi_master.core.run import ActionSettled
from rsi_master.core.state import State
from rsi_master.domains.planning.workers import Assignment
from rsi_master.domains.training.probing import FailedProbeView, ProbeView
from rsi_master.expos.probing import Probe, Probed, Probing
from rsi_master.interfaces.narrate import narrate
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.sketch import SKETCH, TASKS

PRACTICE = 10
TOTAL = PRACTICE * len(TASKS)


def contract(**sections: Any) -> Contract:
    return sketch_contract(
        **{
            "evaluator": {"practice": PRACTICE},
            "research": {"probes_per_worker": 3, "parallel_workers": 4},
            **sections,
        }
    )


def sound(rig: Rig) -> None:
    """Every law of records holds."""
    for law in laws(rig.objects, rig.contract):
        assert list(law(rig.events())) == []


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """A run with w1, finalised with one experiment, and w2, which may continue it."""
    rig = Rig(tmp_path, contract())
    rig.score_base()
    data = rig.add()
    rig.explored(data)
    rig.open_worker(data, predecessors=("w1",))
    yield rig
    sound(rig)
    rig.close()


def trained(rig: Rig, node: str = "w1") -> str:
    return rig.state.owned(node)[0].id


def seen(rig: Rig, node: str = "w2", experiment: str = "base", **window: object) -> ProbeView:
    found = rig.probe(node, experiment, **window)
    assert isinstance(found, ProbeView)
    return found


def refused(rig: Rig, node: str = "w2", experiment: str = "base", **window: object) -> RsiError:
    before, left = rig.state.position, rig.state.books.left()
    with pytest.raises(RsiError) as problem:
        rig.probe(node, experiment, **window)
    kinds = {event.fact.type for event in rig.events()[before + 1 :]}
    assert kinds <= {"action.denied", "action.intended", "action.settled"}
    assert "\n" not in problem.value.message
    assert (rig.state.books.left(), rig.state.intents) == (left, {})
    return problem.value


def test_a_worker_sees_whole_outputs_with_their_verdicts(rig: Rig) -> None:
    view = seen(rig, experiment=trained(rig), count=20)
    assert (view.total, view.start, len(view.answers), view.left) == (TOTAL, 0, 20, 2)
    assert {answer.task for answer in view.answers} == set(TASKS)
    for answer in view.answers:
        assert answer.prompt.startswith("Q: ") and answer.prompt.endswith("\nA:")
        assert answer.output in (f" {answer.reference}", " no idea")
        assert answer.extracted == (answer.output or "").strip()
        assert (
            answer.points == (answer.verdict == "right") == (answer.extracted == answer.reference)
        )
    assert len({answer.question for answer in view.answers}) == 20


def test_a_trained_checkpoint_answers_otherwise_than_the_base(rig: Rig) -> None:
    base, better = seen(rig, count=20), seen(rig, experiment=trained(rig), count=20)
    assert [a.question for a in base.answers] == [a.question for a in better.answers]
    right = [sum(a.points for a in view.answers) for view in (base, better)]
    assert right[0] < right[1]


def test_a_window_is_of_one_task_or_of_all(rig: Rig) -> None:
    whole = seen(rig, count=20).answers
    some = seen(rig, start=3, count=4)
    assert (some.answers, some.start) == (whole[3:7], 3)
    adds = seen(rig, task="add", count=64)
    assert (adds.total, {a.task for a in adds.answers}) == (PRACTICE, {"add"})


def test_no_practice_question_is_scored_or_sealed(rig: Rig) -> None:
    open_ = {answer.prompt for answer in seen(rig, count=20).answers}
    assert not open_ & {item.prompt for item in rig.items()}
    assert rig.sealed.scan([_row(prompt) for prompt in open_]).dropped == {}
    assert "practice" not in rig.sealed.open().sizes


def _row(prompt: str) -> Any:
    from rsi_master.core.artifact import Row

    return Row(prompt=prompt, completion=" 1")


def test_words_about_practice_questions_are_no_secret(rig: Rig) -> None:
    (answer,) = seen(rig, count=1).answers
    rig.worker("w2").act("worker.finalize", summary=f"it fails at {answer.prompt}")


def test_device_seconds_are_reserved_and_what_was_used_is_spent(rig: Rig) -> None:
    before, held = rig.state.books.spent, []
    probe = rig.sealed.probe

    def noting(
        name: str, checkpoint: Path, window: Window, seconds: float | None = None
    ) -> ProbeResult:
        held.append(rig.state.books.reserved().device_seconds)
        found = probe(name, checkpoint, window, seconds)
        return found.model_copy(update={"seconds": 2.5})

    rest = rig.state.books.reserved().device_seconds
    rig.sealed.probe = noting  # type: ignore[method-assign]
    view = seen(rig)
    assert held == [rest + rig.contract.evaluator.seconds]
    spent = rig.state.books.spent
    assert spent == before.plus(Amounts(device_seconds=2.5))
    assert view.device_seconds == 2.5
    assert rig.state.books.reserved().device_seconds == rest
    (fact,) = rig.facts(ProbeRecorded)
    (settled,) = [f for f in rig.facts(ActionSettled) if f.intent == fact.intent]
    assert settled.spent == Amounts(device_seconds=2.5)


def test_the_record_keeps_what_was_seen(rig: Rig) -> None:
    name = trained(rig)
    view = seen(rig, experiment=name, count=5)
    (fact,) = rig.facts(ProbeRecorded)
    assert (fact.worker, fact.experiment, fact.questions) == ("w2", name, 5)
    assert fact.right == sum(answer.verdict == "right" for answer in view.answers)
    checkpoint = rig.state.experiments[name].checkpoint
    assert checkpoint is not None and fact.weights == checkpoint.proof.weights
    lines = rig.objects.get_bytes(fact.outputs.digest).splitlines()
    assert [json.loads(line) for line in lines] == [
        answer.model_dump(mode="json") for answer in view.answers
    ]
    line = narrate(next(e for e in rig.events() if e.fact == fact), rig.state)
    assert line is not None and "of 5 practice questions" in line.text
    assert State.replay(rig.contract, rig.events()).probes == {"w2": 1}


def test_the_assignment_tells_what_may_be_probed(rig: Rig) -> None:
    def told() -> tuple[int, int]:
        task = cast(Assignment, rig.worker("w2").act("worker.current"))
        return task.practice, task.probes

    assert told() == (TOTAL, 3)
    seen(rig)
    assert told() == (TOTAL, 2)


def test_probes_of_a_worker_are_capped(rig: Rig) -> None:
    assert [seen(rig, count=1).left for _ in range(3)] == [2, 1, 0]
    problem = refused(rig)
    assert (problem.code, problem.message) == (
        "PROBES",
        "experiment.probe: the contract allows 3 probes a Worker and all are used",
    )
    other = rig.open_worker()
    assert seen(rig, other).left == 2


@pytest.mark.parametrize(
    ("window", "code", "word"),
    [
        ({"task": "holdout"}, "PRACTICE", "there are reverse, add"),
        ({"start": TOTAL}, "PRACTICE", f"there are {TOTAL} practice questions"),
        (
            {"task": "add", "start": PRACTICE},
            "NO_PRACTICE",
            f"{PRACTICE} practice questions of add",
        ),
        ({"start": 10**30}, "PRACTICE", "start below"),
        ({"count": 65}, "BAD_ARGUMENT", "count"),
        ({"count": 0}, "BAD_ARGUMENT", "count"),
        ({"start": -1}, "BAD_ARGUMENT", "start"),
        ({"task": "x" * 101}, "BAD_ARGUMENT", "task"),
        ({"split": "dev"}, "BAD_ARGUMENT", "split"),
        ({"prompts": ["2 + 2"]}, "BAD_ARGUMENT", "prompts"),
    ],
)
def test_a_window_without_questions_is_refused(
    rig: Rig, window: dict[str, Any], code: str, word: str
) -> None:
    problem = refused(rig, **window)
    assert problem.code == code
    assert word in problem.message
    assert rig.state.probes == {}


def test_unknown_checkpoints_and_those_of_others_are_refused(rig: Rig) -> None:
    data = next(iter(rig.state.datasets))
    stranger = rig.open_worker(data)
    name = rig.train(stranger, data, steps=4)
    cases = {
        name: ("LINEAGE", f"belongs to {stranger}, which is no predecessor of w2"),
        "00000000-0000-7000-8000-999999999999": ("LINEAGE", "is no experiment of this run"),
        "../base": ("BAD_ARGUMENT", "experiment"),
        "Qwen/Qwen3-4B": ("BAD_ARGUMENT", "experiment"),
    }
    for experiment, (code, word) in cases.items():
        problem = refused(rig, experiment=experiment)
        assert problem.code == code
        assert word in problem.message
    assert seen(rig, stranger, name).answers


def test_a_checkpoint_that_does_not_exist_yet_or_failed_is_refused(rig: Rig) -> None:
    data = next(iter(rig.state.datasets))
    waiting = rig.submit("w2", data, steps=5)
    with pytest.raises(PolicyDenied, match="no accepted checkpoint"):
        rig.worker("w2").act("experiment.probe", experiment=waiting)
    rig.settle()
    failed = rig.train("w2", data, fault="exception")
    assert "no accepted checkpoint" in refused(rig, experiment=failed).message


def test_flagged_checkpoints_and_what_continues_them_are_refused(rig: Rig) -> None:
    name, data = trained(rig), next(iter(rig.state.datasets))
    heir = rig.train("w2", data, name, steps=4)
    rig.operator().act("audit.flag", experiment=name, category="test_access", reason="it looked")
    for experiment in (name, heir):
        problem = refused(rig, experiment=experiment)
        assert problem.code == "LINEAGE"
        assert f"tainted by the flagged experiment {name}" in problem.message


@pytest.mark.parametrize("node", ["w1", "w9"])
def test_who_does_not_work_probes_nothing(rig: Rig, node: str) -> None:
    assert refused(rig, node).code == "ACTIVE"


def test_a_set_without_practice_questions_says_so(tmp_path: Path) -> None:
    rig = Rig(tmp_path, contract(evaluator={"practice": 0}))
    try:
        problem = refused(rig, rig.open_worker())
        assert problem.message == (
            "experiment.probe: the sealed set has no practice questions to probe with"
        )
        with pytest.raises(Misuse, match="there are 0 practice questions"):
            rig.sealed.probe("p", rig.base, Window())
    finally:
        rig.close()


def test_what_the_budget_does_not_cover_is_not_generated(tmp_path: Path) -> None:
    rig = Rig(tmp_path, contract(budget={"device_seconds": 75}))
    try:
        with pytest.raises(OverBudget, match="device_seconds 20 needed, 15 left"):
            rig.worker(rig.open_worker()).act("experiment.probe")
        assert rig.facts(ProbeFailed) == []
    finally:
        rig.close()


def test_a_probe_leaves_enough_to_verify_what_it_looks_at(tmp_path: Path) -> None:
    """Base and claim take 60 of 130 seconds, and the training that is looked at 10 and 20."""
    rig = Rig(tmp_path, contract(budget={"device_seconds": 130}))
    try:
        rig.score_base()
        data = rig.add()
        node = rig.open_worker(data)
        name = rig.train(node, data)
        rig.state.books.spent = Amounts(device_seconds=130 - 40 - 49)
        problem = refused(rig, node, name)
        assert problem.code == "VERIFICATION"
        assert f"would not cover the verification of {name}" in problem.message
        assert seen(rig, node, "base").answers
        rig.state.books.spent = Amounts(device_seconds=130 - 40 - 51)
        assert seen(rig, node, name).answers
    finally:
        rig.close()


def test_a_sealed_process_that_dies_meanwhile_is_told_and_paid(rig: Rig) -> None:
    probe = rig.sealed.probe

    def dying(
        name: str, checkpoint: Path, window: Window, seconds: float | None = None
    ) -> ProbeResult:
        rig.clock.at += 3.0
        rig.sealed.die()
        return probe(name, checkpoint, window, seconds)

    before = rig.state.books.spent.device_seconds
    rig.sealed.probe = dying  # type: ignore[method-assign]
    view = rig.probe("w2")
    assert isinstance(view, FailedProbeView)
    assert (view.failed, view.device_seconds, view.left) == ("no sealed process; restart it", 3, 2)
    (fact,) = rig.facts(ProbeFailed)
    assert fact.seconds == 3
    assert rig.state.books.spent.device_seconds == before + 3
    assert rig.compute.free_devices() == rig.contract.devices.slots
    del rig.sealed.probe
    rig.sealed.restart()
    assert seen(rig).left == 1


def test_answers_of_other_weights_are_not_shown(rig: Rig) -> None:
    probe = rig.sealed.probe
    rig.sealed.probe = lambda *given: probe(*given).model_copy(  # type: ignore[method-assign]
        update={"weights": "sha256:" + "f" * 64}
    )
    view = rig.probe("w2", trained(rig))
    assert isinstance(view, FailedProbeView)
    assert "not those trained" in view.failed
    assert rig.facts(ProbeRecorded) == []


def test_a_checkpoint_that_is_gone_is_told(rig: Rig) -> None:
    checkpoint = rig.state.experiments[trained(rig)].checkpoint
    assert checkpoint is not None
    for digest in rig.objects.files(checkpoint.artifact.digest).values():
        rig.objects.blobs.pop(digest, None)
    view = rig.probe("w2", trained(rig))
    assert isinstance(view, FailedProbeView)
    assert view.failed


def test_an_output_that_repeats_a_sealed_question_is_withheld(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    stem = rig.items()[0].stem
    model = type(SKETCH.model(_base(rig)))
    monkeypatch.setattr(model, "complete", lambda self, prompts: [f" {stem}" for _ in prompts])
    (answer, *_) = seen(rig).answers
    assert (answer.output, answer.extracted, answer.verdict) == (None, None, "wrong")
    (fact,) = rig.facts(ProbeRecorded)
    assert stem.encode() not in rig.objects.get_bytes(fact.outputs.digest)


def _base(rig: Rig) -> Any:
    from rsi_master.programs.sealed.vault import read_base

    return read_base(rig.base)


def held(rig: Rig) -> tuple[threading.Event, threading.Event]:
    """A sealed process that answers a probe once it may."""
    begun, go, probe = threading.Event(), threading.Event(), rig.sealed.probe

    def slow(
        name: str, checkpoint: Path, window: Window, seconds: float | None = None
    ) -> ProbeResult:
        begun.set()
        assert go.wait(20)
        return probe(name, checkpoint, window, seconds)

    rig.sealed.probe = slow  # type: ignore[method-assign]
    return begun, go


def until(rig: Rig, condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        rig.tick()
        rig.wake.wait(0.002)


def test_probes_and_evaluations_take_turns_under_a_lease_and_the_lock_is_free(rig: Rig) -> None:
    data = next(iter(rig.state.datasets))
    begun, go = held(rig)
    with ThreadPoolExecutor(1) as caller:
        probing = caller.submit(rig.worker("w2").act, "experiment.probe")
        until(rig, begun.is_set)
        assert rig.compute.free_devices() == rig.contract.devices.slots - 1
        assert rig.lock.acquire(timeout=5), "the lock is held while a checkpoint answers"
        rig.lock.release()
        name = rig.submit("w2", data, steps=4)
        until(rig, lambda: rig.state.experiments[name].lifecycle == "trained")
        for _ in range(5):
            rig.tick()
        assert rig.state.experiments[name].fence("evaluate") == 0
        assert rig.engine.busy()
        go.set()
        until(rig, lambda: rig.state.experiments[name].lifecycle == "finished")
        assert isinstance(probing.result(20), ProbeView)
    assert rig.compute.free_devices() == rig.contract.devices.slots


def test_a_worker_asks_one_thing_at_a_time(rig: Rig) -> None:
    begun, go = held(rig)
    with ThreadPoolExecutor(1) as caller:
        probing = caller.submit(rig.worker("w2").act, "experiment.probe")
        until(rig, begun.is_set)
        with pytest.raises(Misuse, match="a probe of w2 is under way") as refusal:
            rig.worker("w2").act("experiment.probe")
        assert refusal.value.code == "PROBING"
        go.set()
        assert isinstance(probing.result(20), ProbeView)
    assert rig.state.probes == {"w2": 1}


def waiting(rig: Rig) -> None:
    """Until somebody waits for a probe."""
    limit = time.monotonic() + 20
    while not rig.probing._waiting:
        assert time.monotonic() < limit
        time.sleep(0.001)


def test_a_run_that_begins_nothing_more_lets_go_of_who_waits(rig: Rig) -> None:
    with ThreadPoolExecutor(1) as caller:
        probing = caller.submit(rig.worker("w2").act, "experiment.probe")
        waiting(rig)
        until_done(probing, lambda: rig.engine.tick(starting=False))
        with pytest.raises(Broken, match="nothing new is begun"):
            probing.result(0)
    assert (rig.state.probes, rig.state.intents) == ({}, {})


def until_done(answer: Any, step: Callable[[], None]) -> None:
    limit = time.monotonic() + 20
    while not answer.done():
        assert time.monotonic() < limit
        step()
        time.sleep(0.001)


def test_what_was_done_when_the_run_is_paused_is_told(rig: Rig) -> None:
    """A pause says that nothing begins."""
    begun, go = held(rig)
    with ThreadPoolExecutor(1) as caller:
        probing = caller.submit(rig.worker("w2").act, "experiment.probe")
        until(rig, begun.is_set)
        rig.operator().act("run.pause", reason="lunch")
        go.set()
        assert isinstance(probing.result(20), ProbeView)
    with pytest.raises(PolicyDenied, match="paused"):
        rig.worker("w2").act("experiment.probe", start=1)


def test_answers_that_are_refused_after_the_work_are_paid_and_recorded(rig: Rig) -> None:
    before = rig.state.books.spent.device_seconds
    begun, go = held(rig)
    with ThreadPoolExecutor(1) as caller:
        probing = caller.submit(rig.worker("w2").act, "experiment.probe")
        until(rig, begun.is_set)
        rig.finalise("w2")
        go.set()
        with pytest.raises(PolicyDenied, match="w2 is finalised"):
            probing.result(20)
    spent = rig.state.books.spent.device_seconds - before
    (seen,) = rig.facts(ProbeRecorded)
    (settled,) = [f for f in rig.facts(ActionSettled) if f.spent.device_seconds]
    assert (settled.outcome, settled.code) == ("failed", "ACTIVE")
    assert settled.spent.device_seconds == seen.seconds == pytest.approx(spent)
    assert rig.state.intents == {}
    sound(rig)


def test_a_paused_run_keeps_a_probe_waiting(rig: Rig) -> None:
    with ThreadPoolExecutor(1) as caller:
        probing = caller.submit(rig.worker("w2").act, "experiment.probe")
        waiting(rig)
        rig.operator().act("run.pause", reason="lunch")
        for _ in range(5):
            rig.tick()
        assert not probing.done()
        rig.operator().act("run.resume")
        until_done(probing, rig.tick)
        assert isinstance(probing.result(0), ProbeView)


def test_an_owner_that_stops_lets_go_of_who_waits(tmp_path: Path) -> None:
    rig = Rig(tmp_path, contract())
    node = rig.open_worker()
    with ThreadPoolExecutor(1) as caller:
        probing = caller.submit(rig.worker(node).act, "experiment.probe")
        waiting(rig)
        rig.engine.close()
        with pytest.raises(Broken, match="the owner of the run stops"):
            probing.result(20)
    with pytest.raises(Broken) as gone:
        rig.worker(node).act("experiment.probe")
    assert gone.value.code == "NO_ENGINE"
    rig.close()


def question(worker: str = "w1") -> Probe:
    return Probe(f"probe-{worker}", worker, "sha256:" + "0" * 64, Window(), 1.0)


def test_without_an_engine_nobody_waits() -> None:
    with pytest.raises(Broken, match="rsi resume"):
        Probing().ask(question())


def test_who_waits_too_long_is_let_go_and_the_probe_is_not_begun() -> None:
    probing = Probing(patience=0.01)
    probing.serve(lambda: None)
    for _ in range(2):
        with pytest.raises(Broken) as late:
            probing.ask(question())
        assert late.value.code == "PROBE_LATE"
    assert probing.take() is None


def test_probes_are_served_in_order_and_told_to_who_asked() -> None:
    probing = Probing()
    probing.serve(lambda: None)
    names = [f"w{number}" for number in range(1, 5)]
    with ThreadPoolExecutor(len(names)) as callers:
        asked = {name: callers.submit(probing.ask, question(name)) for name in names}
        for _ in names:
            while (waiting := probing.take()) is None:
                time.sleep(0.001)
            number = float(waiting.asked.worker[1:])
            waiting.told.set_result(Probed(number, Misuse("X", "x")))
        found = {name: answer.result(5).seconds for name, answer in asked.items()}
    assert found == {name: float(name[1:]) for name in names}


def test_no_view_of_a_probe_reads_like_a_score() -> None:
    fields = set(ProbeView.model_fields) | set(FailedProbeView.model_fields)
    assert not fields & {"score", "average", "dev", "confirm", "holdout"}
    assert issubclass(ProbeView, Value)
