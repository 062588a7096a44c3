"""Own samples in a real run: a checkpoint of nano writes rows and pairs; both are trained on."""

from pathlib import Path
from typing import cast

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app import start
from rsi_master.app.plugins import base_folder
from rsi_master.app.reader import Record, check, read
from rsi_master.core.artifact import Pair, Row
from rsi_master.core.lineage import teachers
from rsi_master.core.making import MakingEnded
from rsi_master.core.run import RunFinished
from rsi_master.core.turn import Ask
from rsi_master.domains.data.actions import DatasetView, PoolView
from rsi_master.domains.data.pool import parse
from rsi_master.domains.data.sampling import SampledView
from rsi_master.domains.planning.workers import Assignment
from rsi_master.expos.gateway import Session
from rsi_master.programs.nano import verifiers
from rsi_master.testing.folders import digest_of

from .contracts import created

PROMPTS = 96


def contract() -> str:
    """One direction of three experiments."""
    return f"""
name = "samples"
target = "solve sums, chains, facts, calls, code, lists and remedies"

[base]
name = "nano"
digest = "{digest_of(base_folder("nano"))}"

[evaluator]
benchmark = "nano"
dev = 10
confirm = 10
holdout = 10

[budget]
device_seconds = 2000
wall_seconds = 3600
evaluations = 40
experiments = 8

[policy]
recipes = ["sft", "dpo"]
sources = ["nano/scratchpad", "nano/prompts"]
"""


class OneDirection:
    """Main: one Worker, and the end when it has finalised."""

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        if ask.trigger != "start":
            session.act("run.finish", reason="all is seen")
            return
        taken = [
            session.act("data.add", source=f"nano/{name}") for name in ("scratchpad", "prompts")
        ]
        session.act(
            "worker.create",
            direction="own samples",
            hypothesis="own right answers teach",
            task="train, draw, train on what was drawn",
            data=tuple(cast(DatasetView, one).id for one in taken),
            experiments=3,
        )


class Sampler:
    """A Worker: trains a little, draws rows and pairs of that checkpoint, trains on both."""

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        task = cast(Assignment, session.act("worker.current"))
        if task.running:
            return
        rows, prompts = task.data[:2]
        if not task.experiments:
            recipe = {"name": "sft", "learning_rate": 5e-4, "steps": 40, "batch_size": 16}
            session.act("experiment.submit", recipe=recipe, data=rows)
        elif len(task.experiments) == 1:
            self._learn(session, task.experiments[0], prompts)
        else:
            session.act("worker.finalize", summary="both were trained", cites=task.experiments)

    def _learn(self, session: Session, first: str, prompts: str) -> None:
        for keep, name, rate in (("right", "sft", 1e-3), ("pairs", "dpo", 1e-4)):
            drawn = session.act(
                "data.sample",
                experiment=first,
                dataset=prompts,
                keep=keep,
                prompts=PROMPTS,
                samples=4,
                temperature=0.7,
                answer_tokens=96,
            )
            assert isinstance(drawn, SampledView), drawn
            assert isinstance(drawn.dataset, DatasetView), drawn
            recipe = {"name": name, "learning_rate": rate, "steps": 6, "batch_size": 8}
            session.act("experiment.submit", recipe=recipe, data=drawn.dataset.id, init=first)
        assert len(cast(PoolView, session.act("data.list")).datasets) == 4


def test_a_checkpoint_writes_data_that_is_trained_on(tmp_path: Path) -> None:
    folder, home = created(tmp_path, contract())
    agents = {"main": OneDirection(), "worker": Sampler()}
    finished = start.run(folder, home, start.Setting(agents=agents))  # type: ignore[arg-type]
    record = read(folder)
    assert isinstance(finished, RunFinished), finished
    assert check(folder).flaws == ()
    first, *learnt = [e for e in record.state.experiments.values() if e.queued]
    assert [e.lifecycle for e in (first, *learnt)] == ["finished"] * 3, learnt
    assert [teachers(record.state, e.id) for e in learnt] == [(first.id,)] * 2
    jobs = [event.fact for event in record.events if isinstance(event.fact, MakingEnded)]
    assert [(job.ending, job.problem) for job in jobs] == [("ok", None)] * 2
    assert all(job.seconds > 0 for job in jobs)
    assert not list(folder.spool.glob("make-*"))
    the_rows_are_what_they_are_said_to_be(record, first.id)


def the_rows_are_what_they_are_said_to_be(record: Record, writer: str) -> None:
    objects = FolderObjects(record.folder.objects)
    made = [d for d in record.state.datasets.values() if d.source.sampled is not None]
    assert {fact.holds for fact in made} == {"rows", "pairs"}
    for fact in made:
        assert fact.source.sampled is not None and fact.source.sampled.experiment == writer
        told = cast(dict[str, int], fact.source.operation["found"])
        assert (told["asked"], told["drawn"]) == (PROMPTS, 4 * PROMPTS)
        rows = parse(objects.get_bytes(fact.artifact.digest))
        assert 0 < len(rows) == fact.rows <= told["kept"]
        for row in rows:
            points = [verifiers.points(row.prompt, answer) for answer in row.answers()]
            if isinstance(row, Row):
                assert points == [1.0]
            assert isinstance(row, Row) or (isinstance(row, Pair) and better(*points))


def better(chosen: float | None, rejected: float | None) -> bool:
    return chosen is not None and rejected is not None and chosen > rejected
