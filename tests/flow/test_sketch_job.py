"""The test recipe, found by its entry point: it trains without torch and misbehaves on demand."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from rsi_master.adapters.compute.devices import cpu_slots
from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.adapters.sandbox.isolation import choose, probe
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.errors import RsiError
from rsi_master.core.experiment import Proof, Rejection
from rsi_master.core.job import Ending, Input, Job, JobStatus, Resources
from rsi_master.core.recipe import Recipe
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.proof import check
from rsi_master.testing.sketch import write_checkpoint
from rsi_test_plugin.sketch import Fault, SketchSpec


@dataclass(frozen=True)
class Bench:
    """An engine and an initial checkpoint whose skill is 0.2."""

    compute: LocalCompute
    objects: FolderObjects
    init: Path

    def train(self, name: str, spec: SketchSpec, seed: int = 1, seconds: float = 30) -> JobStatus:
        """Run one job to its end."""
        job = Job(
            name=name,
            program="sketch",
            config=TrainConfig(spec=spec, seed=seed).model_dump(),
            inputs=(Input(name="init", digest=self.objects.put_folder("base", self.init).digest),),
            resources=Resources(seconds=seconds),
        )
        self.compute.submit(job)
        while (status := self.compute.poll(name)).state == "running":
            self.compute.wait(seconds)
        return status

    def skill(self, name: str) -> float:
        """What the job made of 0.2."""
        return float(load_file(self.compute.output(name) / "model.safetensors")["skill"][0])

    def verdict(self, name: str, spec: SketchSpec) -> Proof | Rejection:
        """The owner's check of the output."""
        return check(self.init / "model.safetensors", self.compute.output(name), spec)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One engine for the module."""
    root = tmp_path_factory.mktemp("sketch")
    init = write_checkpoint(root / "init", 0.2)
    recipe: Recipe = entry_points(group="rsi_master.recipes")["sketch"].load()
    objects = FolderObjects(root / "objects")
    compute = LocalCompute(
        root / "spool",
        objects,
        {recipe.name: recipe.program},
        devices=cpu_slots(1),
        tier=choose(probe(), "none"),
    )
    try:
        yield Bench(compute, objects, init)
    finally:
        compute.close()


def test_skill_grows_by_steps_and_seed_alone(bench: Bench) -> None:
    spec = SketchSpec(gain=0.1, noise=0.01, steps=4)
    for name, seed in (("one", 1), ("same", 1), ("other", 2)):
        assert bench.train(name, spec, seed).ending == "ok"
    assert isinstance(bench.verdict("one", spec), Proof)
    assert bench.skill("one") == pytest.approx(0.6, abs=0.1)
    assert bench.skill("one") == bench.skill("same") != bench.skill("other")


@pytest.mark.parametrize(
    ("fault", "ending"),
    [
        ("exception", "crashed"),
        ("exit", "crashed"),
        ("hang", "timeout"),
        ("no_result", "crashed"),
    ],
)
def test_a_fault_of_the_process_ends_the_job(bench: Bench, fault: Fault, ending: Ending) -> None:
    seconds = 2 if fault == "hang" else 30
    status = bench.train(fault, SketchSpec(fault=fault, fault_at=2), seconds=seconds)
    assert status.ending == ending
    assert not (bench.compute.output(fault) / "result.json").exists()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("no_change", "NO_CHANGE"),
        ("not_finite", "NOT_FINITE"),
    ],
)
def test_a_fault_of_the_output_is_rejected(bench: Bench, fault: Fault, code: str) -> None:
    spec = SketchSpec(fault=fault)
    assert bench.train(fault, spec).ending == "ok"
    verdict = bench.verdict(fault, spec)
    assert isinstance(verdict, Rejection)
    assert verdict.code == code


def test_a_link_in_the_output_is_not_collected(bench: Bench) -> None:
    assert bench.train("link", SketchSpec(fault="link")).ending == "ok"
    with pytest.raises(RsiError, match="leak"):
        bench.objects.put_folder("checkpoint", bench.compute.output("link"))
