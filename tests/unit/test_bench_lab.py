"""The trainings behind docs/nano.md, each for a moment on the embedded base: every kind of step."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch
from bench.nano import material, plan
from bench.nano.lab import verified
from bench.nano.lab.made import Failed
from bench.nano.steps import (
    Base,
    Dpo,
    Exam,
    Grpo,
    Merge,
    Part,
    Prompted,
    Rejection,
    Sft,
    Step,
    node,
)
from safetensors.torch import load_file

from rsi_master.programs.nano import weights
from rsi_master.programs.nano.format import TASKS
from rsi_master.programs.nano.generator import suite

SUMS = ("sums",)
ITEMS = 4
FIRST = Sft(
    init=Base(), parts=(Part(source="nano/scratchpad", tasks=SUMS),), steps=4, batch=4, rate=1e-3
)
GRPO = Grpo(init=FIRST, tasks=("write",), steps=1, prompts=4, samples=4)
KINDS: dict[str, Step] = {
    "prompted": Prompted(init=Base(), shots=1),
    "sft": FIRST,
    "longer": Sft(init=FIRST, parts=FIRST.parts, like=GRPO, batch=4),
    "grpo": GRPO,
    "rejection": Rejection(
        init=FIRST, tasks=("write",), keep=FIRST.parts, rounds=1, prompts=8, samples=4, steps=2
    ),
    "dpo": Dpo(init=FIRST, steps=1),
    "merge": Merge(inits=(FIRST, GRPO), method="ties"),
    "exam": Exam(init=FIRST),
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> plan.Bench:
    """A bench that carried out one step of each kind."""
    made = plan.Bench(tmp_path_factory.mktemp("bench"), material.context(ITEMS))
    nodes = [node(step, 1) for step in KINDS.values()]
    assert plan.carry_out(made, nodes, 2, lambda _: None) == []
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_of_each_kind_gives_points_for_every_item(bench: plan.Bench, kind: str) -> None:
    found = bench.result(node(KINDS[kind], 1))
    assert found is not None
    assert {task: len(points) for task, points in found.points.items()} == dict.fromkeys(
        TASKS, ITEMS
    )
    assert {task: len(keys) for task, keys in found.keys.items()} == dict.fromkeys(TASKS, ITEMS)
    assert (found.cpu_seconds > 0) == (kind not in ("prompted", "exam"))
    assert len(found.answers) == len(TASKS) * material.SHOWN


@pytest.mark.parametrize("kind", ["sft", "longer", "grpo", "rejection", "dpo"])
def test_a_training_moves_the_weights_and_counts_its_updates(bench: plan.Bench, kind: str) -> None:
    one = node(KINDS[kind], 1)
    parent = bench.checkpoint(one.parents()[0])
    before, after = (load_file(p / "model.safetensors") for p in (parent, bench.checkpoint(one)))
    assert before.keys() == after.keys()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    found = bench.result(one)
    assert found is not None
    asked = {"sft": 4, "grpo": 1, "rejection": 2, "dpo": 1}
    assert found.updates == asked.get(kind, plan.as_long(bench, one))


def test_what_is_there_is_not_carried_out_again(bench: plan.Bench) -> None:
    said: list[str] = []
    nodes = [node(step, 1) for step in KINDS.values()]
    assert plan.carry_out(bench, nodes, 2, said.append) == []
    assert said == ["0 steps to carry out"]


def test_a_step_that_fails_takes_those_along_that_need_it(bench: plan.Bench) -> None:
    none = Sft(init=Base(), parts=(Part(source="nano/chat", tasks=SUMS),), steps=1)
    failures = plan.carry_out(bench, [node(Exam(init=none), 1), node(FIRST, 1)], 1, lambda _: None)
    assert len(failures) == 2
    assert "no row is left" in failures[0]
    assert failures[1] == "1 steps need one that failed"


def test_ties_trims_what_each_parent_changed_of_the_base(bench: plan.Bench) -> None:
    one = node(KINDS["merge"], 1)
    base, merged = (
        load_file(folder / "model.safetensors")
        for folder in (weights.base_folder(), bench.checkpoint(one))
    )
    parents = [load_file(bench.checkpoint(p) / "model.safetensors") for p in one.parents()]
    for name, start in base.items():
        largest = torch.stack([(parent[name] - start).abs() for parent in parents]).amax(0)
        assert ((merged[name] - start).abs() <= largest + 1e-6).all()
    assert any(not torch.equal(merged[name], start) for name, start in base.items())


def test_the_first_of_the_best_is_preferred_to_the_first_of_the_worst() -> None:
    prompt, right, wrong = _sum()
    answers = [wrong, f"{right} ", right, f"{wrong} "]
    pair = verified.contrast(prompt, answers)
    assert pair is not None
    assert (pair.chosen, pair.rejected) == (answers[1], answers[0])
    assert verified.contrast(prompt, [wrong, wrong]) is None
    assert verified.contrast(prompt, []) is None


def test_a_prompt_that_no_verifier_knows_is_refused() -> None:
    with pytest.raises(Failed, match="no verifier knows 'hello'"):
        verified.contrast("hello", ["a", "b"])


def _sum() -> tuple[str, str, str]:
    """A prompt of the train split with a right and a wrong answer."""
    (found,) = suite.distinct(Random(1), "sums", "train", 1)
    return found.prompt, found.right.completion("direct"), found.careless.completion("direct")


def test_a_second_bench_in_one_folder_is_told_to_wait(bench: plan.Bench) -> None:
    with bench.alone(), pytest.raises(plan.Busy, match="another bench works in"):
        plan.carry_out(bench, [], 1, lambda _: None)


@pytest.mark.parametrize(
    "damage", ["no weights", "half the weights", "half a result", "another's result"]
)
def test_a_step_that_is_not_whole_is_carried_out_again(bench: plan.Bench, damage: str) -> None:
    one = node(FIRST, 2)
    assert plan.carry_out(bench, [one], 1, lambda _: None) == []
    file = bench.folder(one) / "result.json"
    stored = bench.checkpoint(one) / "model.safetensors"
    if damage == "no weights":
        stored.unlink()
    elif damage == "half the weights":
        stored.write_bytes(stored.read_bytes()[:1_000_000])
    elif damage == "half a result":
        file.write_bytes(file.read_bytes()[:500])
    else:
        file.write_bytes((bench.folder(node(FIRST, 1)) / "result.json").read_bytes())
    said: list[str] = []
    assert plan.carry_out(bench, [one], 1, said.append) == []
    assert said[0] == "1 steps to carry out"
    assert bench.whole(one)


def test_a_step_heals_the_damaged_parent_that_it_needs(bench: plan.Bench) -> None:
    parent, child = node(FIRST, 3), node(Dpo(init=FIRST, steps=1), 3)
    assert plan.carry_out(bench, [parent], 1, lambda _: None) == []
    (bench.checkpoint(parent) / "tokenizer.json").unlink()
    said: list[str] = []
    assert plan.carry_out(bench, [child], 1, said.append) == []
    assert said[0] == "2 steps to carry out"
    assert bench.whole(parent)
    assert bench.whole(child)


ENDLESS = """
import sys
from pathlib import Path
from bench.nano import material, plan
from bench.nano.steps import Base, Part, Sft, node

bench = plan.Bench(Path(sys.argv[1]), material.context(int(sys.argv[2])))
part = Part(source="nano/scratchpad", tasks=("sums",))
steps = Sft(init=Base(), parts=(part,), steps=100_000)
plan.carry_out(bench, [node(steps, 1), node(steps, 2)], 2, print)
"""


def test_no_step_outlives_a_bench_that_is_killed(tmp_path: Path) -> None:
    started: list[int] = []
    with subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path), str(ITEMS)]) as bench:
        try:
            jobs = "steps/*/scratch/job/job.json"
            until(lambda: len(list(tmp_path.glob(jobs))) == 2 and bench.poll() is None, 60.0)
            started = descendants(bench.pid)
        finally:
            bench.kill()
    try:
        assert len(started) >= 3, "two trainings and the server that forked them"
        until(lambda: not any(map(alive, started)), 60.0)  # the server takes seconds to end
    finally:
        for one in filter(alive, started):
            os.kill(one, signal.SIGKILL)


def until(true: Callable[[], bool], seconds: float) -> None:
    """Wait for it, not longer than this."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not so after {seconds:g} s"
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    children = [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    return [one for child in children for one in (child, *descendants(child))]


def alive(pid: int) -> bool:
    """Whether the process runs; one that nobody waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_pools_that_were_changed_are_drawn_again(tmp_path: Path) -> None:
    material.write(tmp_path, ITEMS)
    before = list(material.stock(tmp_path))
    pairs, forum = (tmp_path / "pools" / f"{name}.json" for name in ("pairs", "forum"))
    pairs.unlink()
    forum.write_bytes(forum.read_bytes()[:500])
    (tmp_path / "pools" / "stray.json").write_bytes(forum.read_bytes())
    material.write(tmp_path, ITEMS)
    assert list(material.stock(tmp_path)) == before
    assert len(before) == 8
