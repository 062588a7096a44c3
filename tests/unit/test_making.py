"""Jobs that an action waits for: begun on a free device, handed over, paid, and never left over."""

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from rsi_master.adapters.compute.devices import Leases
from rsi_master.core.action import OS, Amounts
from rsi_master.core.errors import Broken, Misuse, Refused
from rsi_master.core.job import Input, Job, JobClass, JobStatus, Program, Resources
from rsi_master.core.ports import ObjectStore
from rsi_master.core.run import ActionIntended
from rsi_master.expos.engine import Engine
from rsi_master.expos.making import Made, Order, job_name
from rsi_master.testing import programs
from rsi_master.testing.compute import FakeCompute
from rsi_master.testing.rig import Rig, sketch_contract

NAMES = ("echo", "fail", "beat", "leave_link", "no_result")
SECONDS = 20.0


class Workshop(FakeCompute):
    """An engine that knows the tiny programs as well, and forgets the jobs in `hidden`."""

    def __init__(
        self, spool: Path, objects: ObjectStore, known: Mapping[str, Program], *, slots: int = 2
    ) -> None:
        tiny = {name: Program(entry=f"{programs.__name__}:{name}") for name in NAMES}
        tiny["nothing"] = Program(entry=f"{__name__}:nothing", job_class="code")
        super().__init__(spool, objects, {**known, **tiny}, slots=slots)
        self.hidden: set[str] = set()

    def poll(self, name: str) -> JobStatus:
        """State now, unless it is forgotten."""
        if name in self.hidden:
            return JobStatus(name=name, state="unknown")
        return super().poll(name)


def nothing(_folder: Path, _made: int, result: int) -> int:
    """A program of class `code` that has nothing to say."""
    return os.write(result, b"{}") - 2


class Caller:
    """Somebody who waits for jobs while the test drives the engine."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.threads = ThreadPoolExecutor(4)

    def ask(self, order: Order) -> Future[Made]:
        """Order, and return once the order stands in the queue or is refused."""
        before = len(self.rig.making._waiting)
        asked = self.threads.submit(self.rig.making.ask, order)
        self.until(lambda: asked.done() or len(self.rig.making._waiting) > before, lambda: None)
        return asked

    def made(self, order: Order) -> Made:
        """What the job left, with the engine at work meanwhile."""
        asked = self.ask(order)
        self.until(asked.done)
        return asked.result(0)

    def until(self, condition: Callable[[], bool], step: Callable[[], None] | None = None) -> None:
        limit = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < limit
            (step or self.rig.tick)()
            time.sleep(0.001)

    def running(self, order: Order) -> None:
        """Until the job runs."""
        self.until(lambda: self.rig.compute.poll(order.job.name).state == "running")

    def left_over(self) -> list[str]:
        """Folders of jobs that lie in the spool."""
        spool = self.rig.compute.output("x").parent.parent
        return sorted(path.name for path in spool.iterdir())


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    rig = Rig(tmp_path, sketch_contract(devices={"slots": 2}), compute=Workshop)
    caller = Caller(rig)
    yield caller
    rig.close()
    caller.threads.shutdown()
    assert rig.compute.free_devices() in (0, 2), "a lease is left over"


def order(
    rig: Rig,
    program: str,
    worker: str = "w1",
    seconds: float = 20.0,
    wanted: Mapping[str, int] | None = None,
    job_class: JobClass = "recipe",
) -> Order:
    digest = rig.objects.put_bytes("dataset", b"some rows").digest
    job = Job(
        name=job_name(rig.ids.fresh()),
        job_class=job_class,
        program=program,
        config={"answer": 42},
        inputs=(Input(name="data.jsonl", digest=digest),),
        resources=Resources(seconds=seconds),
    )
    return Order(worker, job, {"result.json": 1000} if wanted is None else wanted)


def test_what_a_job_leaves_is_handed_over_and_its_folder_is_gone(caller: Caller) -> None:
    made = caller.made(order(caller.rig, "echo"))
    assert made.problem is None and made.status.ending == "ok"
    assert json.loads(made.files["result.json"]) == {
        "inputs": {"data.jsonl": "some rows"},
        "config": {"answer": 42},
    }
    assert caller.left_over() == []
    assert not caller.rig.engine.busy()


def test_a_crash_is_told_with_the_end_of_its_log(caller: Caller) -> None:
    made = caller.made(order(caller.rig, "fail"))
    assert made.status.ending == "crashed"
    assert made.problem is not None and "the job ended crashed: exit code 1" in made.problem
    assert b"a failure on purpose" in made.log
    assert made.files == {}
    assert caller.left_over() == []


def test_a_crash_on_a_full_disk_is_told_as_that(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(caller.rig.compute.output("x").parent.parent)._replace(free=4096)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    left = caller.made(order(caller.rig, "fail"))
    assert left.problem == "the disk that holds the run is full; free it, then ask again"


@pytest.mark.parametrize(
    ("program", "wanted", "problem"),
    [
        ("leave_link", {"passwords": 10_000}, "the job left no plain file passwords"),
        ("echo", {"rows.jsonl": 10}, "the job left no plain file rows.jsonl"),
        ("echo", {"result.json": 10}, "result.json has over 10 bytes"),
    ],
)
def test_outputs_that_are_no_small_plain_files_are_refused(
    caller: Caller, program: str, wanted: dict[str, int], problem: str
) -> None:
    made = caller.made(order(caller.rig, program, wanted=wanted))
    assert (made.status.ending, made.problem, made.files) == ("ok", problem, {})
    assert caller.left_over() == []


def test_a_job_that_is_over_its_time_costs_what_was_reserved(caller: Caller) -> None:
    made = caller.made(order(caller.rig, "beat", seconds=0.05))
    assert (made.status.ending, made.status.seconds) == ("timeout", 0.05)
    assert made.problem == "the job ended timeout: over its limit"


def test_a_job_that_the_engine_lost_costs_the_time_that_went_by(caller: Caller) -> None:
    rig, lost = caller.rig, order(caller.rig, "beat")
    asked = caller.ask(lost)
    caller.running(lost)
    assert isinstance(rig.compute, Workshop)
    rig.clock.at += 3.0
    rig.compute.hidden.add(lost.job.name)
    caller.until(asked.done)
    assert (asked.result(0).status.ending, asked.result(0).status.seconds) == ("lost", 3.0)


def test_a_worker_orders_one_thing_at_a_time_and_others_beside_it(caller: Caller) -> None:
    slow = order(caller.rig, "beat")
    asked = caller.ask(slow)
    caller.running(slow)
    with pytest.raises(Misuse, match="a job of w1 is under way") as refusal:
        caller.rig.making.ask(order(caller.rig, "echo"))
    assert refusal.value.code == "MAKING"
    assert caller.made(order(caller.rig, "echo", worker="w2")).problem is None
    assert caller.rig.engine.busy() and not asked.done()
    caller.rig.engine.cancel_all("STOPPED")
    caller.until(asked.done)
    assert asked.result(0).status.ending == "cancelled"


def test_an_order_waits_for_a_device(caller: Caller) -> None:
    for name in ("a", "b"):
        caller.rig.compute.lease(name)
    asked = caller.ask(order(caller.rig, "echo"))
    for _ in range(3):
        caller.rig.tick()
    assert not asked.done() and not caller.rig.engine.busy()
    caller.rig.compute.release("a")
    caller.until(asked.done)
    assert asked.result(0).problem is None
    caller.rig.compute.release("b")


def test_agents_code_does_not_wait_for_a_gpu(caller: Caller) -> None:
    """An order that waits for a GPU lets one of code pass, which takes none."""
    rig = caller.rig
    rig.compute._leases = Leases(("GPU-0a", "GPU-0b"))
    for name in ("a", "b"):
        rig.compute.lease(name)
    first = caller.ask(order(rig, "echo"))
    made = caller.made(order(rig, "nothing", worker="w2", wanted={}, job_class="code"))
    assert (made.status.ending, made.status.devices) == ("ok", ("cpu:0",))
    assert not first.done()
    rig.compute.release("a")
    caller.until(first.done)
    assert first.result(0).status.devices == ("GPU-0a",)
    rig.compute.release("b")


def test_a_paused_run_begins_nothing_and_one_that_ends_lets_go(caller: Caller) -> None:
    rig = caller.rig
    rig.operator().act("run.pause", reason="lunch")
    asked = caller.ask(order(rig, "echo"))
    for _ in range(3):
        rig.tick()
    assert not asked.done()
    rig.engine.tick(starting=False)
    with pytest.raises(Broken, match="nothing new is begun") as refusal:
        asked.result(5)
    assert refusal.value.code == "JOB_REFUSED"


@pytest.mark.parametrize(
    ("program", "job_class", "kind", "code"),
    [("nonsense", "recipe", Misuse, "JOB_PROGRAM"), ("echo", "code", Refused, "JOB_CLASS")],
)
def test_what_the_engine_does_not_run_is_told_as_it_says(
    caller: Caller, program: str, job_class: JobClass, kind: type[Exception], code: str
) -> None:
    asked = caller.ask(order(caller.rig, program, job_class=job_class))
    caller.until(asked.done)
    problem = asked.exception(0)
    assert isinstance(problem, kind) and getattr(problem, "code", "") == code
    assert caller.rig.compute.free_devices() == 2
    assert not caller.rig.engine.busy()


def test_an_interrupted_owner_tells_and_leaves_nothing(caller: Caller) -> None:
    slow = order(caller.rig, "beat")
    asked = caller.ask(slow)
    caller.running(slow)
    caller.rig.engine.interrupt()
    made = asked.result(5)
    assert made.status.state == "ended" and made.status.ending == "cancelled"
    assert made.problem == "the owner of the run was stopped"
    assert caller.left_over() == []
    with pytest.raises(Broken) as gone:
        caller.rig.making.ask(order(caller.rig, "echo"))
    assert gone.value.code == "NO_ENGINE"


def test_what_a_dead_owner_left_is_removed_by_its_open_intent(
    caller: Caller, tmp_path: Path
) -> None:
    rig = caller.rig
    intent = rig.ids.fresh()
    fact = ActionIntended(intent=intent, action="data.sample", arguments={}, reserve=Amounts())
    rig.ledger.append(OS, (fact,)).wait()
    out = rig.compute.output(job_name(intent))
    out.mkdir(parents=True)
    (out / "rows.jsonl").write_text("half a ro")
    engine = Engine(rig._plant(tmp_path), rig.lock, rig.wake.set)
    assert caller.left_over() == []
    engine.close()
