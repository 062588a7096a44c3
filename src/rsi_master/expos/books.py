"""Laws that a sound record keeps, checked from its events alone: balanced books, fences, lineage,
one claim."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rsi_master.core.action import Amounts
from rsi_master.core.budget import ZERO, Books
from rsi_master.core.contract import Budget
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import (
    BASE,
    AttemptEnded,
    AttemptPlanned,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.program import KINDS, ProgramAdded, ProgramKind
from rsi_master.core.run import (
    ActionIntended,
    ActionSettled,
    ClaimFailed,
    ClaimOpened,
    ClaimScored,
    RunFinished,
)
from rsi_master.expos.order import Flaw

SLACK_SECONDS = 1.0

Check = Callable[[Sequence[Event]], Sequence[Flaw]]


def intents_are_settled(events: Sequence[Event]) -> list[Flaw]:
    """Every intent has one outcome; in a finished run none is open."""
    open_: dict[str, int] = {}
    flaws = []
    for event in events:
        if isinstance(event.fact, ActionIntended):
            open_[event.fact.intent] = event.position
        elif isinstance(event.fact, ActionSettled) and open_.pop(event.fact.intent, None) is None:
            flaws.append(_flaw("OUTCOME_WITHOUT_INTENT", event, "no open intent of that id"))
    if _finished(events):
        flaws += [
            Flaw(code="INTENT_OPEN", where=f"event {at}", what="never settled, and the run is over")
            for at in open_.values()
        ]
    return flaws


def attempts_are_fenced(events: Sequence[Event]) -> list[Flaw]:
    """Fences rise by one, an attempt ends once, one runs at a time for an experiment."""
    open_: dict[str, AttemptPlanned] = {}
    fences: dict[tuple[str, str], int] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, AttemptPlanned):
            key = (fact.experiment, fact.stage)
            if fact.fence != fences.get(key, 0) + 1:
                flaws.append(_flaw("FENCE", event, f"fence {fact.fence} does not follow"))
            if any(known.experiment == fact.experiment for known in open_.values()):
                flaws.append(_flaw("ATTEMPT_TWICE", event, "planned while another one runs"))
            fences[key] = fact.fence
            open_[fact.job] = fact
        elif isinstance(fact, AttemptEnded) and open_.pop(fact.job, None) is None:
            flaws.append(_flaw("ATTEMPT_END", event, f"{fact.job} ends without having begun"))
    if _finished(events):
        flaws += [
            Flaw(code="ATTEMPT_OPEN", where=job, what="never ended, and the run is over")
            for job in open_
        ]
    return flaws


def experiments_end_once(events: Sequence[Event]) -> list[Flaw]:
    """Queued once, ended once, and device seconds spent are those of the attempts."""
    queued: set[str] = {BASE}
    ended: set[str] = set()
    seconds: dict[str, float] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ExperimentQueued):
            if fact.experiment in queued:
                flaws.append(_flaw("EXPERIMENT_TWICE", event, f"{fact.experiment} queued again"))
            queued.add(fact.experiment)
        elif isinstance(fact, AttemptEnded):
            seconds[fact.experiment] = seconds.get(fact.experiment, 0.0) + fact.seconds
        elif isinstance(fact, ExperimentEnded):
            flaws += _ending(event, fact, queued, ended, seconds.get(fact.experiment, 0.0))
            ended.add(fact.experiment)
    if _finished(events):
        flaws += [
            Flaw(code="EXPERIMENT_OPEN", where=name, what="never ended, and the run is over")
            for name in sorted(queued - ended - {BASE})
        ]
    return flaws


def lineage_holds(events: Sequence[Event]) -> list[Flaw]:
    """θ_in is the base or an accepted checkpoint without a flag in its lineage, and so is whatever
    wrote answers in data; the holdout is opened for such a one alone."""
    sound: dict[str, bool] = {BASE: True}
    parents: dict[str, tuple[str, ...]] = {BASE: ()}
    writers: dict[str, tuple[str, ...]] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ExperimentQueued):
            taught = tuple(one for digest in fact.data for one in writers.get(digest, ()))
            flaws += [
                _flaw("LINEAGE", event, f"{verb} {name}, not accepted")
                for verb, several in (("starts from", fact.parents()), ("learns from", taught))
                for name in several
                if not _sound(name, sound, parents)
            ]
            parents.setdefault(fact.experiment, (*fact.parents(), *taught))
        elif isinstance(fact, DatasetRegistered):
            wrote = _writers(fact, writers)
            flaws += [
                _flaw("LINEAGE", event, f"holds answers of {name}, not accepted")
                for name in wrote[:1]
                if fact.source.sampled is not None and not _sound(name, sound, parents)
            ]
            writers.setdefault(fact.artifact.digest, wrote)
        elif isinstance(fact, IntegritySet):
            flagged = sound.get(fact.experiment) is False
            sound[fact.experiment] = fact.integrity == "accepted" and not flagged
        elif isinstance(fact, ClaimOpened) and not _sound(fact.experiment, sound, parents):
            flaws.append(_flaw("LINEAGE", event, f"claims {fact.experiment}, not accepted"))
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
                flaws.append(_flaw("WEIGHTS_DIFFER", event, "scored weights are not those trained"))
        elif isinstance(fact, DatasetRegistered | DatasetRefused) and fact.source.sampled:
            wrote = fact.source.sampled
            if wrote.weights != weights.get(wrote.experiment, wrote.weights):
                told = "weights that wrote its answers are not those trained"
                flaws.append(_flaw("WEIGHTS_DIFFER", event, told))
    return flaws


def one_claim(events: Sequence[Event]) -> list[Flaw]:
    """The holdout is opened at most once, and its result is of that opening."""
    opened: str | None = None
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ClaimOpened):
            if opened is not None:
                flaws.append(_flaw("CLAIM_TWICE", event, "the holdout was opened before"))
            opened = fact.name
        elif isinstance(fact, ClaimScored | ClaimFailed) and fact.name != opened:
            flaws.append(_flaw("CLAIM_UNOPENED", event, "a result without its opening"))
    return flaws


def work_is_paid(events: Sequence[Event]) -> list[Flaw]:
    """What an action spends by itself is what its probe or its job took, unless nobody was left to
    tell of it."""
    took: dict[str, float] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ProbeRecorded | ProbeFailed | MakingEnded):
            took[fact.intent] = took.get(fact.intent, 0.0) + fact.seconds
        elif isinstance(fact, ActionSettled):
            spent, seconds = fact.spent.device_seconds, took.pop(fact.intent, 0.0)
            if fact.outcome != "abandoned" and abs(spent - seconds) > 1e-6:
                told = f"{spent:g} device seconds spent, its probe or job took {seconds:g}"
                flaws.append(_flaw("BOOKS", event, told))
    if _finished(events):
        flaws += [
            Flaw(code="BOOKS", where=f"intent {intent}", what="its probe or job was never paid")
            for intent in took
        ]
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
                flaws.append(_flaw("PROGRAM_UNKNOWN", event, told))
            elif (use == "transform") != (added[program] == "transform"):
                told = f"uses program {program} as a {use}, and it is a {added[program]}"
                flaws.append(_flaw("PROGRAM_KIND", event, told))
    return flaws


def made_data_has_a_job(events: Sequence[Event]) -> list[Flaw]:
    """Rows that a checkpoint wrote or a program made or judged are recorded with the job that did
    it, of the same action, and that job left what was wanted."""
    job: MakingEnded | None = None
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, MakingEnded):
            job = fact
        elif isinstance(fact, ActionSettled):
            job = None
        elif isinstance(fact, DatasetRegistered) and (fact.source.sampled or any(_programs(fact))):
            if job is None or job.problem is not None:
                told = f"dataset {fact.artifact.digest} was made by no job that ended well"
                flaws.append(_flaw("JOB_MISSING", event, told))
    return flaws


def nothing_after_the_end(events: Sequence[Event]) -> list[Flaw]:
    """No event follows the end of the run, but turns that were under way and owners that look."""
    for index, event in enumerate(events):
        if isinstance(event.fact, RunFinished):
            late = [
                e for e in events[index + 1 :] if not e.fact.type.startswith(("turn.", "action."))
            ]
            return [_flaw("AFTER_END", e, f"{e.fact.type} after the run was over") for e in late]
    return []


def within(budget: Budget) -> Check:
    """The law that no more was spent than the contract allows. The end of a job is noticed a moment
    after its limit, so each attempt may add a second."""

    def spending_is_within(events: Sequence[Event]) -> list[Flaw]:
        limit, spent, attempts = Books.of(budget).limit, ZERO, 0
        for event in events:
            if isinstance(event.fact, ExperimentEnded | ClaimScored | ClaimFailed | ActionSettled):
                spent = spent.plus(event.fact.spent)
            attempts += isinstance(event.fact, AttemptEnded | ClaimOpened) or (
                isinstance(event.fact, ActionSettled) and event.fact.spent != ZERO
            )
        allowed = limit.plus(Amounts(device_seconds=SLACK_SECONDS * attempts))
        return [
            Flaw(
                code="OVERSPENT",
                where=f"budget.{name}",
                what=f"{getattr(spent, name):g} spent of {getattr(limit, name):g}",
            )
            for name in allowed.lacking(spent)
        ]

    return spending_is_within


CHECKS: tuple[Check, ...] = (
    intents_are_settled,
    attempts_are_fenced,
    experiments_end_once,
    lineage_holds,
    scores_are_of_the_weights,
    one_claim,
    work_is_paid,
    programs_are_added,
    made_data_has_a_job,
    nothing_after_the_end,
)


def _ending(
    event: Event, fact: ExperimentEnded, queued: set[str], ended: set[str], seconds: float
) -> Iterator[Flaw]:
    if fact.experiment not in queued:
        yield _flaw("EXPERIMENT_UNKNOWN", event, f"{fact.experiment} ends without being queued")
    if fact.experiment in ended:
        yield _flaw("EXPERIMENT_TWICE", event, f"{fact.experiment} ends again")
    if abs(fact.spent.device_seconds - seconds) > 1e-6:
        spent = fact.spent.device_seconds
        yield _flaw("BOOKS", event, f"{spent:g} device seconds spent, attempts took {seconds:g}")


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


def _finished(events: Sequence[Event]) -> bool:
    return any(isinstance(event.fact, RunFinished) for event in events)


def _flaw(code: str, event: Event, what: str) -> Flaw:
    return Flaw(code=code, where=f"event {event.position}", what=what)
