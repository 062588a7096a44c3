"""A stop of the owner: what the jobs of actions used is recorded before the ledger closes."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from rsi_master.app.owner import _signals
from rsi_master.core.artifact import Artifact, Kind
from rsi_master.core.errors import Broken
from rsi_master.core.making import MakingEnded
from rsi_master.core.model import Value
from rsi_master.core.run import ActionIntended, ActionSettled
from rsi_master.domains.data.programs import FailedProgramView
from rsi_master.expos.books import CHECKS
from rsi_master.expos.making import job_name
from rsi_master.testing.rig import Rig, sketch_contract

PROGRAM = {
    "kind": "verifier",
    "title": "slow",
    "source": "import time\ndef verify(prompt, answer):\n    time.sleep(2)\n    return 1\n",
    "tests": ({"prompt": "p", "answer": "a", "points": 1},),
}


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path, sketch_contract(policy={"programs": 1}), tier="namespaces")
    yield made
    assert [flaw for law in CHECKS for flaw in law(made.events())] == []
    made.close()


@pytest.fixture
def caller() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


def waiting(rig: Rig, caller: ThreadPoolExecutor) -> Future[Value]:
    """An action that waits for its job, which runs."""
    asked = caller.submit(rig.main().act, "program.add", **PROGRAM)
    limit = time.monotonic() + 20
    while not running(rig):
        assert time.monotonic() < limit and not asked.done(), asked.exception(0)
        rig.tick()
        time.sleep(0.001)
    return asked


def running(rig: Rig) -> bool:
    intents = list(rig.state.intents)
    return any(rig.compute.poll(job_name(name)).state == "running" for name in intents)


def test_a_stop_waits_until_what_a_job_used_is_recorded(
    rig: Rig, caller: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on, put = waiting(rig, caller), Event(), rig.objects.put_bytes

    def slow(kind: Kind, data: bytes) -> Artifact:
        assert go_on.wait(20)
        return put(kind, data)

    monkeypatch.setattr(rig.objects, "put_bytes", slow)
    rig.engine.interrupt()
    assert not rig.gateway.close(0.05), "the end of its job is not recorded yet"
    assert len(rig.state.intents) == 1
    go_on.set()
    assert rig.gateway.close(20)
    assert rig.state.intents == {}
    (made,), (settled,) = rig.facts(MakingEnded), rig.facts(ActionSettled)
    assert made.ending == "cancelled" and made.problem is not None
    assert (settled.intent, settled.outcome) == (made.intent, "done")
    assert settled.spent.device_seconds == made.seconds > 0
    assert rig.state.books.spent.device_seconds >= made.seconds
    assert isinstance(asked.result(5), FailedProgramView)


def test_after_a_stop_nothing_is_begun(rig: Rig) -> None:
    assert rig.gateway.close(0)
    with pytest.raises(Broken, match="resumed") as refused:
        rig.main().act("data.add", source="sketch/clean")
    assert refused.value.code == "OWNER_STOPS"
    assert rig.facts(ActionIntended) == []


def test_the_end_of_the_terminal_stops_a_run_but_not_under_nohup() -> None:
    assert signal.SIGHUP in _signals()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert _signals() == (signal.SIGINT, signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)
