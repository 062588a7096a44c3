"""Training jobs as they really run: an engine with a warm parent, a random checkpoint, one job."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rsi_master.adapters.compute.devices import cpu_slots
from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.adapters.sandbox.isolation import choose, probe
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core import canonical
from rsi_master.core.job import Input, Job, JobStatus, Resources
from rsi_master.core.program import ProgramKind, ProgramText
from rsi_master.core.recipe import Recipe, RecipeSpec
from rsi_master.core.warm import JobTier
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.result import TrainResult
from rsi_master.programs.nano import tokenizer
from rsi_master.testing.checkpoint import write_tiny

SECONDS = 120.0
SEED = 7
VOCABULARY = tokenizer.build().get_vocab_size()
Rows = Sequence[Mapping[str, str]]
ROWS: Rows = [
    {"prompt": f"Q: {left} + {right}\nA:", "completion": f" {left + right}"}
    for left in range(6)
    for right in range(6)
]


def write_checkpoint(folder: Path) -> None:
    """A random model with the tokenizer of nano."""
    write_tiny(folder, VOCABULARY)
    tokenizer.save(folder)


def lines(rows: Rows) -> bytes:
    """The rows as JSONL."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@dataclass(frozen=True)
class Bench:
    """An engine with a warm parent, and an initial checkpoint."""

    compute: LocalCompute
    objects: FolderObjects
    init: Path
    tier: JobTier = "none"

    def train(
        self, name: str, recipe: Recipe, config: TrainConfig[RecipeSpec], *inputs: Input
    ) -> Path:
        """Run one job to its end; the output folder."""
        job = Job(
            name=name,
            program=recipe.name,
            config=config.model_dump(),
            inputs=inputs,
            judge=config.spec.judge,
            resources=Resources(seconds=SECONDS),
        )
        self.compute.submit(job)
        while (status := self.compute.poll(name)).state == "running":
            self.compute.wait(SECONDS)
        out = self.compute.output(name)
        assert status.ending == "ok", said(status, out)
        return out

    def checkpoint(self, folder: Path | None = None, name: str = "init") -> Input:
        """A checkpoint as an input; the random one without a folder."""
        return Input(name=name, digest=self.objects.put_folder("base", folder or self.init).digest)

    def program(self, kind: ProgramKind, source: str) -> str:
        """An agent's program; its id."""
        text = ProgramText(kind=kind, source=source).render()
        return self.objects.put_bytes("program", text).digest

    def data(self, rows: Rows, name: str = "data") -> Input:
        """Rows as an input."""
        digest = self.objects.put_bytes("dataset", lines(rows)).digest
        return Input(name=f"{name}.jsonl", digest=digest)


@contextmanager
def engine(root: Path, *recipes: Recipe) -> Iterator[Bench]:
    """An engine whose warm parent imports what these recipes need once."""
    objects = FolderObjects(root / "objects")
    write_checkpoint(root / "init")
    tier = choose(probe(), "none")
    compute = LocalCompute(
        root / "spool",
        objects,
        {recipe.name: recipe.program for recipe in recipes},
        devices=cpu_slots(1),
        tier=tier,
    )
    try:
        yield Bench(compute, objects, root / "init", tier)
    finally:
        compute.close()


def length(text: str) -> int:
    """How many tokens a text has."""
    return len(tokenizer.build().encode(text).ids)


def said(status: JobStatus, out: Path) -> str:
    """What a job that failed left behind."""
    log = out / "log.txt"
    return f"{status}\n{log.read_text() if log.is_file() else 'no log'}"


def result_of(out: Path) -> TrainResult:
    """The parsed `result.json`."""
    return TrainResult.model_validate(canonical.decode((out / "result.json").read_bytes()))
