"""The law that jobs were told what the record says of them, read from their specifications."""

from collections.abc import Callable, Iterator, Sequence

from pydantic import ValidationError

from rsi_master.core.artifact import Artifact
from rsi_master.core.canonical import decode
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.errors import RsiError
from rsi_master.core.event import Event
from rsi_master.core.experiment import BASE, AttemptPlanned, CheckpointStored, ExperimentQueued
from rsi_master.core.job import Job
from rsi_master.core.ports import ObjectStore
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import RunOpened
from rsi_master.expos.laws.data import MadeFact, jobs_of_actions, made_by
from rsi_master.expos.laws.law import Check, flaw, programs
from rsi_master.expos.order import Flaw

Differs = Callable[[Job], str | None]


def as_told(objects: ObjectStore) -> Check:
    """The law that the specification of a training names the checkpoints, data, program, recipe and
    seed of its experiment, and that of a job which made data or tested a program names those.

    A specification that cannot be read back is passed over: as an artifact it is unsound already.
    """

    def jobs_are_as_told(events: Sequence[Event]) -> list[Flaw]:
        flaws = []
        for event, spec, differs in (*_attempts(events), *_makings(events)):
            try:
                text = objects.get_bytes(spec.digest)
            except RsiError:
                continue
            found = _difference(text, differs)
            if found is not None:
                flaws.append(flaw("JOB_DIFFERS", event, f"its job {found}"))
        return flaws

    return jobs_are_as_told


def _difference(text: bytes, differs: Differs) -> str | None:
    try:
        job = Job.model_validate(decode(text))
    except (ValueError, ValidationError):
        return "has a specification that is none"
    return differs(job)


def _attempts(events: Sequence[Event]) -> Iterator[tuple[Event, Artifact, Differs]]:
    """Each attempt to train, with its specification and what is to be asked of that."""
    checkpoints: dict[str, str] = {}
    queued: dict[str, ExperimentQueued] = {}
    for event in events:
        fact = event.fact
        _note(event, checkpoints)
        if isinstance(fact, ExperimentQueued):
            queued.setdefault(fact.experiment, fact)
        elif isinstance(fact, AttemptPlanned) and fact.spec is not None:
            told = queued.get(fact.experiment)
            if told is not None:
                parents = {checkpoints.get(parent, "") for parent in told.parents()}
                yield event, fact.spec, _of_training(told, fact.job, {*parents, *told.data})


def _of_training(told: ExperimentQueued, name: str, inputs: set[str]) -> Differs:
    judges = {program for _, program in programs(told)}

    def differs(job: Job) -> str | None:
        if job.name != name:
            return f"is {job.name}, not {name}"
        if {one.digest for one in job.inputs} != inputs:
            return f"has other inputs than the checkpoints and data of {told.experiment}"
        if job.program != told.recipe.get("name") or job.config.get("spec") != told.recipe:
            return f"has another recipe than {told.experiment}"
        if job.config.get("seed") != told.seed:
            return f"has seed {job.config.get('seed')}, and {told.experiment} has {told.seed}"
        if {job.judge} - {None} != judges:
            return f"has another judge than {told.experiment}"
        return None

    return differs


def _makings(events: Sequence[Event]) -> Iterator[tuple[Event, Artifact, Differs]]:
    """Each thing that a job of an action made, in the same way."""
    checkpoints: dict[str, str] = {}
    for event in events:
        _note(event, checkpoints)
    for event, job, _ in jobs_of_actions(events):
        found = made_by(event.fact)
        if job is not None and found is not None:
            yield event, job.spec, _of_making(found[0], job.program, checkpoints)


def _of_making(fact: MadeFact, program: str, checkpoints: dict[str, str]) -> Differs:
    def differs(job: Job) -> str | None:
        inputs = {one.digest for one in job.inputs}
        if job.program != program:
            return f"ran {job.program}, not {program}"
        if isinstance(fact, ProgramAdded):
            return None if fact.artifact.digest in inputs else "tested another program"
        if inputs != _inputs(fact, checkpoints):
            return "has other inputs than the data, program and checkpoint that it is said to have"
        return None

    return differs


def _inputs(fact: DatasetRegistered | DatasetRefused, checkpoints: dict[str, str]) -> set[str]:
    used = {program for _, program in programs(fact)}
    wrote = fact.source.sampled
    answered = {checkpoints.get(wrote.experiment, "")} if wrote is not None else set()
    return {*fact.source.parents, *used, *answered}


def _note(event: Event, checkpoints: dict[str, str]) -> None:
    """Keep the artifact of the base or of a checkpoint, the first that is told of each."""
    if isinstance(event.fact, RunOpened):
        checkpoints.setdefault(BASE, event.fact.base.digest)
    elif isinstance(event.fact, CheckpointStored):
        checkpoints.setdefault(event.fact.experiment, event.fact.artifact.digest)
