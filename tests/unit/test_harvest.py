"""The harvest: whatever a job left and whatever its judge does, the owner gets a record of it."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rsi_master.core.experiment import CheckpointStored, ExperimentQueued, Proof, Rejection
from rsi_master.core.job import Job
from rsi_master.expos.harvest import WEIGHTS, Harvest
from rsi_master.testing.stores import MemoryObjects

DIGEST = "sha256:" + "0" * 64
QUEUED = ExperimentQueued(
    experiment="e",
    worker="w1",
    recipe={"name": "odd"},
    family="f",
    effective=DIGEST,
    init="base",
    merges=(),
    data=(DIGEST,),
    rows=1,
    seed=0,
    purpose="explore",
    replicates=None,
    seconds=1.0,
    intent="i",
)
PROOF = Proof(
    steps=1,
    supervised_tokens=1,
    total_tokens=2,
    change={"mlp": 1.0},
    tokenizer_length=None,
    final_loss=None,
    weights=DIGEST,
)


@dataclass(frozen=True)
class Judge:
    """A trainer whose verdict is given."""

    says: Callable[[], Proof | Rejection] = lambda: PROOF

    def job(
        self, experiment: ExperimentQueued, name: str, parents: Sequence[str], seconds: float
    ) -> Job:
        """None is asked for here."""
        raise NotImplementedError

    def judge(self, experiment: ExperimentQueued, init: Path, out: Path) -> Proof | Rejection:
        """See `Trainer`."""
        return self.says()


@dataclass(frozen=True)
class Field:
    """A harvest and the folder that a job left."""

    harvest: Harvest
    init: str
    out: Path

    def reap(self, judge: Judge) -> CheckpointStored | Rejection:
        harvest = replace(self.harvest, trainer=judge)
        return harvest.checkpoint(QUEUED, 1, self.init, self.out)


@pytest.fixture
def field(tmp_path: Path) -> Field:
    base, out, scratch = (tmp_path / name for name in ("base", "out", "scratch"))
    for folder in (base, out, scratch):
        folder.mkdir()
    (base / WEIGHTS).write_bytes(b"before")
    (base / "config.json").write_bytes(b"{}")
    (out / WEIGHTS).write_bytes(b"after")
    objects = MemoryObjects()
    init = objects.put_folder("base", base).digest
    return Field(Harvest(objects, Judge(), scratch), init, out)


def test_a_proven_output_becomes_a_checkpoint_beside_the_files_of_its_start(field: Field) -> None:
    found = field.reap(Judge())
    assert isinstance(found, CheckpointStored)
    assert sorted(field.harvest.objects.files(found.artifact.digest)) == ["config.json", WEIGHTS]
    assert list(field.harvest.scratch.iterdir()) == []


@pytest.mark.parametrize("fault", [ZeroDivisionError, OSError, RecursionError, NotImplementedError])
def test_a_judge_that_fails_rejects_the_output(field: Field, fault: type[Exception]) -> None:
    def fail() -> Proof:
        raise fault(f"in a plugin that reads {field.out / WEIGHTS}")

    found = field.reap(Judge(fail))
    assert isinstance(found, Rejection)
    assert found.code == "JUDGE_FAILED"
    assert found.detail.endswith(f"{fault.__name__}: in a plugin that reads out/{WEIGHTS}")
    assert list(field.harvest.scratch.iterdir()) == []


def test_a_judge_that_says_nothing_rejects_the_output(field: Field) -> None:
    found = field.reap(Judge(lambda: None))  # type: ignore[arg-type, return-value]
    assert isinstance(found, Rejection)
    assert found.code == "JUDGE_FAILED"


def test_a_verdict_is_passed_on(field: Field) -> None:
    rejected = Rejection(code="NO_CHANGE", detail="no weight moved")
    assert field.reap(Judge(lambda: rejected)) == rejected


def link(weights: Path) -> None:
    weights.symlink_to("/etc/hostname")


def second_name(weights: Path) -> None:
    (weights.parent / "other").write_bytes(b"after")
    os.link(weights.parent / "other", weights)


def absent(_weights: Path) -> None:
    """Nothing is left."""


@pytest.mark.parametrize("left", [link, second_name, os.mkfifo, Path.mkdir, absent])
def test_weights_that_are_no_plain_file_are_refused_whatever_the_judge_says(
    field: Field, left: Callable[[Path], None]
) -> None:
    (field.out / WEIGHTS).unlink()
    left(field.out / WEIGHTS)
    found = field.reap(Judge())
    assert isinstance(found, Rejection)
    assert found.code == "OUTPUT_REFUSED"
    assert str(field.out) not in found.detail
