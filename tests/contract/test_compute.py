"""The compute port on the fake and on the local engine in each isolation tier."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from rsi_master.adapters.compute.devices import cpu_slots
from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.adapters.sandbox.isolation import probe
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.errors import Broken, Misuse, Refused
from rsi_master.core.job import Input, Job, Program, Resources
from rsi_master.core.warm import JobTier
from rsi_master.testing.bench import Bench, processes_of

TIERS = {one.tier: one for one in probe()}
WALLED = ("fake", *(tier for tier in TIERS if tier not in ("none", "host")))
CARDS = ("GPU-0a", "GPU-0b")
QUICK = "def transform(row):\n    return row\n"
SLOW = "import time\ndef transform(row):\n    time.sleep(5)\n    return row\n"
ROW = {"prompt": "p"}


@pytest.fixture(scope="module", params=["fake", *TIERS])
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    yield from engine(request.param, tmp_path_factory.mktemp("bench"))


@pytest.fixture(params=WALLED)
def slots(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """An engine with two CPU slots that runs agents' code."""
    yield from engine(request.param, tmp_path)


@pytest.fixture(params=WALLED)
def cards(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """One with two GPUs, which the tiny programs do not use."""
    yield from engine(request.param, tmp_path, CARDS)


def engine(
    name: JobTier | Literal["fake"], base: Path, cards: tuple[str, ...] = ()
) -> Iterator[Bench]:
    """The fake, or the local engine under a tier."""
    found = None if name == "fake" else TIERS[name]
    if found is not None and not found.held:
        pytest.skip(f"{found.tier} does not hold here: {found.reason}")
    made = Bench(found.tier if found else None, base, cards)
    yield made
    made.engine.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Bench]:
    made = Bench("none", tmp_path)
    yield made
    made.engine.close()


def test_a_job_reads_its_inputs_and_leaves_a_result(bench: Bench) -> None:
    blob = bench.objects.put_bytes("dataset", b"hello")
    inputs = (Input(name="a.txt", digest=blob.digest),)
    job = bench.job("echo", {"x": 1}).model_copy(update={"inputs": inputs})
    status = bench.end(job)
    assert (status.ending, status.detail, status.tier) == ("ok", "", bench.tier)
    assert bench.result(job) == {"inputs": {"a.txt": "hello"}, "config": {"x": 1}}
    assert status.seconds > 0
    assert status.devices == ("cpu:0",)


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("exit_three", "exit code 3"),
        ("fail", "ValueError: a failure on purpose"),
        ("no_result", "without out/result.json"),
    ],
)
def test_a_failure_of_the_program_is_a_crash(bench: Bench, program: str, detail: str) -> None:
    status = bench.end(bench.job(program))
    assert status.ending == "crashed"
    assert detail in status.detail


def test_over_its_time_limit(bench: Bench) -> None:
    status = bench.end(bench.job("beat", seconds=0.4))
    assert status.ending == "timeout"
    assert 0.4 < status.seconds < 5


def test_silence_is_a_stall_and_a_heartbeat_is_not(bench: Bench) -> None:
    silent = bench.job("hang", stall_seconds=0.4)
    lively = bench.job("beat", stall_seconds=0.4, seconds=1.5)
    bench.engine.submit(lively)
    assert bench.end(silent).ending == "stalled"
    assert bench.until_ended(lively.name).ending == "timeout"


def test_cancel_ends_a_job_and_frees_its_device(bench: Bench) -> None:
    job = bench.job("beat")
    bench.engine.submit(job)
    bench.until_beating(job.name)
    assert bench.engine.free_devices() == 1
    bench.engine.cancel(job.name)
    assert bench.until_ended(job.name).ending == "cancelled"
    assert bench.engine.free_devices() == 2
    bench.engine.cancel(job.name)
    assert bench.engine.poll(job.name).ending == "cancelled"


def test_a_known_name_is_not_started_again(bench: Bench) -> None:
    job = bench.job("echo")
    first = bench.end(job)
    bench.engine.submit(job)
    assert bench.engine.poll(job.name) == first


def test_an_unknown_name(bench: Bench) -> None:
    bench.engine.cancel("never.1")
    assert bench.engine.poll("never.1").state == "unknown"


def test_no_free_device(bench: Bench) -> None:
    running = bench.job("beat", devices=2)
    bench.engine.submit(running)
    with pytest.raises(Broken, match="0 are free"):
        bench.engine.submit(bench.job("echo"))
    bench.engine.cancel(running.name)
    bench.until_ended(running.name)


def test_work_outside_a_job_leases_a_device(bench: Bench) -> None:
    running = bench.job("beat")
    bench.engine.submit(running)
    assert bench.engine.lease(running.name) == ("cpu:1",)
    with pytest.raises(Broken, match="0 are free"):
        bench.engine.lease("other")
    bench.engine.release("other")
    bench.engine.release(running.name)
    assert bench.engine.free_devices() == 1
    bench.engine.cancel(running.name)
    bench.until_ended(running.name)


def free(bench: Bench) -> tuple[int, int]:
    """Free devices for recipes and for agents' code."""
    return bench.engine.free_devices(), bench.engine.free_devices("code")


def test_agents_code_takes_one_of_the_slots_where_devices_are_slots(slots: Bench) -> None:
    running, code = slots.job("beat"), slots.code("transform", SLOW, ROW)
    slots.engine.submit(running)
    assert free(slots) == (1, 1)
    slots.engine.submit(code)
    assert slots.engine.poll(code.name).devices == ("cpu:1",)
    assert free(slots) == (0, 0)
    with pytest.raises(Broken, match="0 are free"):
        slots.engine.submit(slots.code("transform", QUICK, ROW))
    with pytest.raises(Broken, match="0 are free"):
        slots.engine.lease("other")
    slots.engine.cancel(code.name)
    slots.until_ended(code.name)
    assert free(slots) == (1, 1)


def test_agents_code_takes_a_slot_of_its_own_and_no_gpu_where_devices_are_gpus(
    cards: Bench,
) -> None:
    running = cards.job("beat")
    cards.engine.submit(running)
    assert cards.engine.lease("other") == ("GPU-0b",)
    assert free(cards) == (0, 2)
    status = cards.end(cards.code("transform", QUICK, ROW))
    assert (status.ending, status.devices) == ("ok", ("cpu:0",))
    first, second = (cards.code("transform", SLOW, ROW) for _ in range(2))
    cards.engine.submit(first)
    cards.engine.submit(second)
    assert cards.engine.poll(second.name).devices == ("cpu:1",)
    assert free(cards) == (0, 0)
    with pytest.raises(Broken, match="0 are free"):
        cards.engine.submit(cards.code("transform", QUICK, ROW))
    cards.engine.release("other")
    assert free(cards) == (1, 0)
    for job in (running, first):
        cards.engine.cancel(job.name)
        cards.until_ended(job.name)
    assert free(cards) == (2, 1)
    assert cards.engine.poll(running.name).devices == ("GPU-0a",)


def test_wait_tells_of_an_end_that_came_before_it(bench: Bench) -> None:
    while bench.engine.wait(0):
        continue
    assert not bench.engine.wait(0.05)
    bench.engine.submit(bench.job("exit_three"))
    limit = time.monotonic() + 20
    while bench.engine.free_devices() < 2 and time.monotonic() < limit:
        time.sleep(0.01)
    assert bench.engine.wait(0)
    assert not bench.engine.wait(0)


def test_what_an_engine_does_not_take(bench: Bench) -> None:
    job = bench.job("echo")
    with pytest.raises(Refused, match="of class 'code': echo is 'recipe'"):
        bench.engine.submit(job.model_copy(update={"job_class": "code"}))
    with pytest.raises(Misuse, match="known are"):
        bench.engine.submit(job.model_copy(update={"program": "rm"}))
    with pytest.raises(Misuse, match=r"\.\./x"):
        bench.engine.submit(job.model_copy(update={"name": "../x"}))
    inputs = (Input(name="../x", digest="sha256:" + "0" * 64),)
    with pytest.raises(Misuse, match=r"\.\./x"):
        bench.engine.submit(job.model_copy(update={"inputs": inputs}))
    assert bench.engine.free_devices() == 2


def test_a_missing_input_leaves_no_trace(bench: Bench) -> None:
    job = bench.job("echo")
    inputs = (Input(name="a", digest="sha256:" + "0" * 64),)
    with pytest.raises(Exception, match="0000"):
        bench.engine.submit(job.model_copy(update={"inputs": inputs}))
    assert bench.engine.free_devices() == 2
    assert bench.end(job).ending == "ok"


def test_a_link_among_the_outputs_is_not_taken(bench: Bench) -> None:
    job = bench.job("leave_link")
    assert bench.end(job).ending == "ok"
    with pytest.raises(Misuse, match="passwords is a link"):
        bench.objects.put_folder("outputs", bench.engine.output(job.name))


def test_a_killed_warm_parent_loses_its_jobs_and_is_started_again(fresh: Bench) -> None:
    elsewhere = processes_of(os.getpid())
    job = fresh.job("beat")
    fresh.engine.submit(job)
    fresh.until_beating(job.name)
    os.kill(min(processes_of(os.getpid()) - elsewhere), signal.SIGKILL)
    assert fresh.until_ended(job.name).ending == "lost"
    assert fresh.engine.free_devices() == 2
    assert processes_of(os.getpid()) == elsewhere
    assert fresh.end(fresh.job("echo")).ending == "ok"


def test_close_cancels_and_refuses_more(fresh: Bench) -> None:
    elsewhere = processes_of(os.getpid())
    job = fresh.job("beat")
    fresh.engine.submit(job)
    fresh.until_beating(job.name)
    fresh.engine.close()
    assert fresh.engine.poll(job.name).ending == "cancelled"
    assert processes_of(os.getpid()) == elsewhere
    with pytest.raises(Broken, match="closed"):
        fresh.engine.submit(fresh.job("echo"))


def test_a_job_cancelled_before_its_parent_is_ready_never_runs(fresh: Bench) -> None:
    job = fresh.job("beat")
    fresh.engine.submit(job)
    fresh.engine.cancel(job.name)
    assert fresh.until_ended(job.name).ending == "cancelled"
    assert not (fresh.engine.output(job.name) / "metrics.jsonl").exists()


def test_a_job_has_nothing_of_the_owners_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "do not pass on")
    made = Bench("none", tmp_path)
    job = made.job("survey", {"secret": "/x/y", "port": 1, "owner": 1, "descriptor": 99})
    status = made.end(job)
    made.engine.close()
    assert status.ending == "ok"
    found = made.result(job)
    assert "SECRET_KEY" not in found["at_exec"]
    assert not {"SECRET_KEY", "PATH"} & set(found["environment"])


def test_a_stack_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    missing = Program(entry="rsi_master.testing.programs:echo", preload=("no_such_module",))
    objects = FolderObjects(tmp_path / "objects")
    spool = tmp_path / "spool"
    engine = LocalCompute(spool, objects, {"p": missing}, devices=cpu_slots(1), tier="none")
    engine.submit(Job(name="a.1", program="p", config={}, resources=Resources(seconds=5)))
    assert engine.wait(20)
    engine.close()
    assert engine.poll("a.1").ending == "lost"
    assert "No module named 'no_such_module'" in engine.poll("a.1").detail
