"""Laws about what things come from: checkpoints, data, scores and the claim each name a cause that
was recorded before."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import (
    BASE,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.making import SAMPLE_JOB, MakingEnded
from rsi_master.core.probe import ProbeRecorded
from rsi_master.core.program import JOB, KINDS, ProgramAdded, ProgramKind
from rsi_master.core.run import ActionSettled, ClaimFailed, ClaimOpened, ClaimScored
from rsi_master.expos.order import Flaw, flaw_at


def lineage_holds(events: Sequence[Event]) -> list[Flaw]:
    """θ_in is the base or an accepted checkpoint without a flag in its lineage, and so is whatever
    wrote answers in data; the holdout is opened for such a one alone, which repeats such a one."""
    sound: dict[str, bool] = {BASE: True}
    parents: dict[str, tuple[str, ...]] = {BASE: ()}
    writers: dict[str, tuple[str, ...]] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ExperimentQueued):
            taught = tuple(one for digest in fact.data for one in writers.get(digest, ()))
            flaws += [
                flaw_at("LINEAGE", event, f"{verb} {name}, not accepted")
                for verb, several in (("starts from", fact.parents()), ("learns from", taught))
                for name in several
                if not _sound(name, sound, parents)
            ]
            repeats = () if fact.replicates is None else (fact.replicates,)
            parents.setdefault(fact.experiment, (*fact.parents(), *taught, *repeats))
        elif isinstance(fact, DatasetRegistered):
            wrote = _writers(fact, writers)
            flaws += [
                flaw_at("LINEAGE", event, f"holds answers of {name}, not accepted")
                for name in wrote[:1]
                if fact.source.sampled is not None and not _sound(name, sound, parents)
            ]
            writers.setdefault(fact.artifact.digest, wrote)
        elif isinstance(fact, IntegritySet):
            flagged = sound.get(fact.experiment) is False
            sound[fact.experiment] = fact.integrity == "accepted" and not flagged
        elif isinstance(fact, ClaimOpened) and not _sound(fact.experiment, sound, parents):
            flaws.append(flaw_at("LINEAGE", event, f"claims {fact.experiment}, not accepted"))
    return flaws


def scores_are_of_the_weights(events: Sequence[Event]) -> list[Flaw]:
    """What was scored, answered a probe or wrote data is what was trained."""
    weights: dict[str, str] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, CheckpointStored):
            weights[fact.experiment] = fact.proof.weights
        elif isinstance(fact, EvaluationRecorded | ClaimScored | ProbeRecorded):
            scored = fact.result.weights if isinstance(fact, ClaimScored) else fact.weights
            if scored != weights.get(fact.experiment, scored):
                flaws.append(
                    flaw_at("WEIGHTS_DIFFER", event, "scored weights are not those trained")
                )
        elif isinstance(fact, DatasetRegistered | DatasetRefused) and fact.source.sampled:
            wrote = fact.source.sampled
            if wrote.weights != weights.get(wrote.experiment, wrote.weights):
                told = "weights that wrote its answers are not those trained"
                flaws.append(flaw_at("WEIGHTS_DIFFER", event, told))
    return flaws


def programs_are_added(events: Sequence[Event]) -> list[Flaw]:
    """What made or judged rows, or judges in a training, was added before as a program of such a
    kind."""
    added: dict[str, ProgramKind] = {}
    flaws: list[Flaw] = []
    for event in events:
        if isinstance(event.fact, ProgramAdded):
            added[event.fact.artifact.digest] = event.fact.kind
        for use, program in _programs(event.fact):
            if program not in added:
                told = f"uses program {program}, which was not added"
                flaws.append(flaw_at("PROGRAM_UNKNOWN", event, told))
            elif (use == "transform") != (added[program] == "transform"):
                told = f"uses program {program} as a {use}, and it is a {added[program]}"
                flaws.append(flaw_at("PROGRAM_KIND", event, told))
    return flaws


def made_data_has_a_job(events: Sequence[Event]) -> list[Flaw]:
    """Rows that a checkpoint wrote or a program made or judged are recorded with the job that did
    it, of the same action, and that job left what was wanted."""
    job: MakingEnded | None = None
    flaws: list[Flaw] = []
    for event, following in zip_longest(events, events[1:]):
        fact = event.fact
        if isinstance(fact, MakingEnded):
            job = fact
        elif isinstance(fact, ActionSettled):
            job = None
        elif isinstance(fact, DatasetRegistered) and (wanted := _makers(fact)):
            made = job is not None and job.problem is None and job.program in wanted
            # The facts of an action are one commit with its end, which says of which intent.
            of_it = following is None or (
                isinstance(following.fact, ActionSettled)
                and job is not None
                and following.fact.intent == job.intent
            )
            if not (made and of_it):
                told = f"dataset {fact.artifact.digest} was made by no job that ended well"
                flaws.append(flaw_at("JOB_MISSING", event, told))
    return flaws


def data_is_registered(events: Sequence[Event]) -> list[Flaw]:
    """What is trained on, and what data are made of, was scanned and registered before."""
    known: set[str] = set()
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        used: tuple[str, ...] = ()
        if isinstance(fact, ExperimentQueued):
            used = fact.data
        elif isinstance(fact, DatasetRegistered):
            used = fact.source.parents
            known.add(fact.artifact.digest)
        flaws += [
            flaw_at("DATA_UNKNOWN", event, f"uses dataset {digest}, which was not registered")
            for digest in used
            if digest not in known
        ]
    return flaws


def one_claim(events: Sequence[Event]) -> list[Flaw]:
    """The holdout is opened at most once, and its result is of that opening."""
    opened: str | None = None
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ClaimOpened):
            if opened is not None:
                flaws.append(flaw_at("CLAIM_TWICE", event, "the holdout was opened before"))
            opened = fact.name
        elif isinstance(fact, ClaimScored | ClaimFailed) and fact.name != opened:
            flaws.append(flaw_at("CLAIM_UNOPENED", event, "a result without its opening"))
    return flaws


def _makers(fact: DatasetRegistered) -> tuple[str, ...]:
    """The programs of jobs of which one must have made the rows; none for rows that were there."""
    if fact.source.sampled is not None:
        return (SAMPLE_JOB,)
    return (JOB,) if any(_programs(fact)) else ()


def _writers(fact: DatasetRegistered, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Whose checkpoints wrote answers of a dataset: its own writer first, then those of the data
    that it was made of."""
    own = (fact.source.sampled.experiment,) if fact.source.sampled else ()
    return (*own, *(one for digest in fact.source.parents for one in known.get(digest, ())))


def _sound(
    experiment: str, sound: Mapping[str, bool], parents: Mapping[str, tuple[str, ...]]
) -> bool:
    """Whether the experiment and all that it goes back to are accepted and not flagged."""
    seen: set[str] = set()
    open_ = [experiment]
    while open_:
        name = open_.pop()
        if not sound.get(name, False):
            return False
        if name not in seen:
            seen.add(name)
            open_ += parents.get(name, (BASE,))
    return True


def _programs(fact: Fact) -> Iterator[tuple[str, str]]:
    """The programs of agents that a fact says were used, each after what it was used as."""
    said: Mapping[str, object] = {}
    if isinstance(fact, DatasetRegistered | DatasetRefused):
        filtered = fact.source.operation.get("filter")
        said = {**(filtered if isinstance(filtered, dict) else {}), **fact.source.operation}
    elif isinstance(fact, ExperimentQueued):
        said = fact.recipe
    for use in KINDS:
        program = said.get(use)
        if isinstance(program, str):
            yield use, program
