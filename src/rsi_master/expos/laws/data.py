"""Laws of data and programs: each is known before it is used, and came about as it says."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.making import MakingEnded
from rsi_master.core.program import JOB, ProgramAdded, ProgramKind
from rsi_master.core.run import ActionSettled
from rsi_master.expos.laws.law import flaw, programs
from rsi_master.expos.order import Flaw

SAMPLER: Final = "data.sample"
"""What jobs that draw answers of a checkpoint are called in the record."""

MadeFact: TypeAlias = DatasetRegistered | DatasetRefused | ProgramAdded


def data_are_registered(events: Sequence[Event]) -> list[Flaw]:
    """What is trained on, mixed, filtered or given to a Worker was registered before."""
    known: set[str] = set()
    flaws: list[Flaw] = []
    for event in events:
        flaws += [
            flaw("DATA_UNKNOWN", event, f"{use} {digest}, which was not registered")
            for use, digest in _data(event.fact)
            if digest not in known
        ]
        if isinstance(event.fact, DatasetRegistered):
            known.add(event.fact.artifact.digest)
    return flaws


def _data(fact: Fact) -> Iterator[tuple[str, str]]:
    """The datasets that a fact says were used, each after what it was used for."""
    if isinstance(fact, ExperimentQueued):
        yield from (("trains on", digest) for digest in fact.data)
    elif isinstance(fact, DatasetRegistered | DatasetRefused):
        yield from (("is made of", digest) for digest in fact.source.parents)
    elif isinstance(fact, WorkerCreated):
        yield from (("starts from", digest) for digest in fact.data)


def programs_are_added(events: Sequence[Event]) -> list[Flaw]:
    """What made or judged rows, or judges in a training, was added before as a program of such a
    kind."""
    added: dict[str, ProgramKind] = {}
    flaws: list[Flaw] = []
    for event in events:
        if isinstance(event.fact, ProgramAdded):
            added[event.fact.artifact.digest] = event.fact.kind
        for use, program in programs(event.fact):
            if program not in added:
                told = f"uses program {program}, which was not added"
                flaws.append(flaw("PROGRAM_UNKNOWN", event, told))
            elif (use == "transform") != (added[program] == "transform"):
                told = f"uses program {program} as a {use}, and it is a {added[program]}"
                flaws.append(flaw("PROGRAM_KIND", event, told))
    return flaws


def made_by(fact: Fact) -> tuple[MadeFact, str] | None:
    """What a job must have made, and what such a job is called: rows that a checkpoint wrote, rows
    that a program made or judged, and a program, which was tested."""
    if isinstance(fact, DatasetRegistered | DatasetRefused):
        if fact.source.sampled is not None:
            return fact, SAMPLER
        return (fact, JOB) if any(programs(fact)) else None
    return (fact, JOB) if isinstance(fact, ProgramAdded) else None


def jobs_of_actions(events: Sequence[Event]) -> Iterator[tuple[Event, MakingEnded | None, str]]:
    """Each event that tells of something made, with the job that ended before it in the same
    action, which makes one thing, and the intent of that action; "" where the record ends before
    the outcome. The facts of an action and its outcome are one commit."""
    job: MakingEnded | None = None
    made: list[tuple[Event, MakingEnded | None]] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, MakingEnded):
            job = fact
        elif made_by(fact) is not None:
            made.append((event, job))
            job = None
        elif isinstance(fact, ActionSettled):
            yield from ((one, by, fact.intent) for one, by in made)
            job, made = None, []
    yield from ((one, by, "") for one, by in made)


def made_data_has_a_job(events: Sequence[Event]) -> list[Flaw]:
    """What only a job can make is recorded with a job of the same action, that ran what it takes
    and left what was wanted."""
    flaws: list[Flaw] = []
    for event, job, intent in jobs_of_actions(events):
        found = made_by(event.fact)
        if found is None:
            continue
        fact, program = found
        if job is None or job.problem is not None or (intent and job.intent != intent):
            told = f"{_named(fact)} was made by no job of its action that ended well"
            flaws.append(flaw("JOB_MISSING", event, told))
        elif job.program != program:
            told = f"{_named(fact)} was made by a job {job.program}, which takes a job {program}"
            flaws.append(flaw("JOB_MISSING", event, told))
    return flaws


def _named(fact: MadeFact) -> str:
    if isinstance(fact, DatasetRefused):
        return "what was refused"
    noun = "program" if isinstance(fact, ProgramAdded) else "dataset"
    return f"{noun} {fact.artifact.digest}"
