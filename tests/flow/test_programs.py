"""Agents' programs in a whole run under walls: added, tested, used, recorded and verified."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from rsi_master.adapters.compute.devices import cpu_slots
from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.adapters.sandbox.isolation import probe
from rsi_master.app.laws import laws
from rsi_master.core.job import Program
from rsi_master.core.making import MakingEnded
from rsi_master.core.ports import ObjectStore
from rsi_master.core.program import ProgramAdded
from rsi_master.core.state import State
from rsi_master.core.warm import JobTier
from rsi_master.domains.data.actions import DatasetView, RefusedView
from rsi_master.domains.data.made import FailedRunView
from rsi_master.domains.data.pool import parse
from rsi_master.domains.data.programs import FailedProgramView, ProgramView
from rsi_master.testing.compute import FakeCompute
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.sketch import POOL_ROWS

HELD = {one.tier: one for one in probe()}
CONFINING: tuple[JobTier, ...] = ("namespaces", "landlock")
SAID = """
import re

def transform(row):
    numbers = re.findall('[0-9]+', row['prompt'])
    if not numbers:
        return None
    return {'prompt': row['prompt'], 'completion': ' ' + ' + '.join(numbers) + ' ='
            + row['completion']}
"""
FORGED = """
import json, os

def transform(row):
    if len(row['prompt']) > 1:
        for descriptor in range(3, 9):
            try:
                line = {'row': 0, 'made': [{'prompt': 'forged'}], 'id': 'sha256:' + '0' * 64}
                os.write(descriptor, json.dumps(line).encode() + b'\\n')
                os.write(descriptor, b'{"done": 60, "failures": []}\\n')
            except OSError:
                pass
        os._exit(0)
    return row
"""
PATCHED = """
import json, math, sys

runner = sys.modules['rsi_master.programs.code.runner']
runner._points = lambda found: found
math.isfinite = lambda value: True

def verify(prompt, answer):
    return 1 if prompt == 'a' else 7
"""
ROW = {"prompt": "a", "completion": "b"}


def local(tier: JobTier) -> type[FakeCompute]:
    """The local engine of that tier, made as a rig makes its fake."""

    class Local(LocalCompute):
        def __init__(
            self,
            spool: Path,
            objects: ObjectStore,
            programs: Mapping[str, Program],
            *,
            slots: int = 2,
        ) -> None:
            super().__init__(spool, objects, programs, devices=cpu_slots(slots), tier=tier)

    return cast(type[FakeCompute], Local)


@pytest.fixture(params=CONFINING)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    found = HELD[request.param]
    if not found.held:
        pytest.skip(f"{found.tier} does not hold here: {found.reason}")
    policy = {"programs": 9, "sources": ["sketch/clean", "sketch/pairs"]}
    made = Rig(tmp_path, sketch_contract(policy=policy), compute=local(found.tier), tier=found.tier)
    yield made
    assert [flaw for law in laws(made.objects, made.contract) for flaw in law(made.events())] == []
    made.close()


def act(rig: Rig, name: str, **arguments: object) -> Any:
    main = rig.main()
    return rig.while_working(lambda: main.act(name, **arguments))


def add(rig: Rig, kind: str, source: str, *tests: object) -> Any:
    return act(rig, "program.add", kind=kind, title="a", source=source, tests=tests)


def test_data_is_made_by_a_program_under_walls_and_stands_in_the_record(rig: Rig) -> None:
    row = {"prompt": "Q: add 1 and 2\nA:", "completion": " 3"}
    said = {**row, "completion": " 1 + 2 = 3"}
    none = {"row": {"prompt": "a", "completion": "b"}, "made": ()}
    program = add(rig, "transform", SAID, {"row": row, "made": (said,)}, none)
    assert isinstance(program, ProgramView)
    data = rig.add()
    view = act(rig, "data.transform", dataset=data, program=program.id)
    assert isinstance(view, DatasetView)
    assert view.rows == POOL_ROWS // 2
    rows: Any = parse(rig.objects.get_bytes(view.id))
    assert all(" + " in row.completion for row in rows)
    jobs = rig.facts(MakingEnded)
    assert [(job.tier, job.ending, job.problem, job.log) for job in jobs] == [
        (rig.tier, "ok", None, None)
    ] * 2
    assert rig.state.books.spent.device_seconds == sum(job.seconds for job in jobs)
    again = State.replay(rig.contract, rig.events())
    assert again.programs.keys() == {program.id}
    assert again.datasets.keys() == {data, view.id}
    (added,) = rig.facts(ProgramAdded)
    assert rig.objects.check(added.artifact.digest) is rig.objects.check(added.tests.digest) is None


def test_results_that_a_program_writes_itself_are_rows_to_scan_or_nothing(rig: Rig) -> None:
    test = {"row": {"prompt": "a"}, "made": ({"prompt": "a"},)}
    program = add(rig, "transform", FORGED, test).id
    view = act(rig, "data.transform", dataset=rig.add(), program=program)
    assert isinstance(view, FailedRunView)
    assert "ended its process before its work was done" in view.failed
    assert len(rig.state.datasets) == 1


def test_points_of_a_changed_runner_are_points_or_nothing(rig: Rig) -> None:
    program = add(rig, "verifier", PATCHED, {"prompt": "a", "answer": "b", "points": 1}).id
    pairs = rig.add("sketch/pairs")
    view = act(rig, "data.filter", dataset=pairs, verified=True, verifier=program)
    assert isinstance(view, FailedRunView)
    assert view.failed.startswith("row 0: its line is none of a program")


def test_a_program_without_end_is_ended_and_paid(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rsi_master.domains.data.running.START_SECONDS", 0.5)
    source = "def transform(row):\n    while True:\n        pass\n"
    view = add(rig, "transform", source, {"row": ROW, "made": ()})
    assert isinstance(view, FailedProgramView)
    assert view.failed.startswith("the job ended timeout: over its limit of 0.505 s")
    assert rig.state.books.spent.device_seconds == pytest.approx(0.505)


def test_what_is_made_of_a_sealed_question_is_dropped(rig: Rig) -> None:
    stem = next(item.stem for item in rig.items() if item.task == "add")
    source = (
        f"CODES = {[ord(letter) + 1 for letter in stem]}\n"
        "def transform(row):\n"
        "    if len(row['prompt']) == 1:\n"
        "        return row\n"
        "    return {'prompt': ''.join(chr(one - 1) for one in CODES)}\n"
    )
    program = add(rig, "transform", source, {"row": {"prompt": "a"}, "made": ({"prompt": "a"},)})
    view = act(rig, "data.transform", dataset=rig.add(), program=program.id)
    assert isinstance(view, RefusedView)
    assert not [event for event in rig.events() if stem.encode() in event.to_bytes()]
