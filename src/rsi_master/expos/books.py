"""Laws that a sound record keeps, checked from its events alone: balanced books and fences here,
what things come from in `provenance.py`."""

from collections.abc import Callable, Iterator, Sequence

from rsi_master.core.action import Amounts
from rsi_master.core.budget import ZERO, Books
from rsi_master.core.contract import Budget
from rsi_master.core.event import Event
from rsi_master.core.experiment import (
    BASE,
    AttemptEnded,
    AttemptPlanned,
    ExperimentEnded,
    ExperimentQueued,
)
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.run import (
    ActionIntended,
    ActionSettled,
    ClaimFailed,
    ClaimOpened,
    ClaimScored,
    RunFinished,
)
from rsi_master.expos.order import Flaw, flaw_at
from rsi_master.expos.provenance import (
    data_is_registered,
    lineage_holds,
    made_data_has_a_job,
    one_claim,
    programs_are_added,
    scores_are_of_the_weights,
)

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
            flaws.append(flaw_at("OUTCOME_WITHOUT_INTENT", event, "no open intent of that id"))
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
                flaws.append(flaw_at("FENCE", event, f"fence {fact.fence} does not follow"))
            if any(known.experiment == fact.experiment for known in open_.values()):
                flaws.append(flaw_at("ATTEMPT_TWICE", event, "planned while another one runs"))
            fences[key] = fact.fence
            open_[fact.job] = fact
        elif isinstance(fact, AttemptEnded) and open_.pop(fact.job, None) is None:
            flaws.append(flaw_at("ATTEMPT_END", event, f"{fact.job} ends without having begun"))
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
                flaws.append(flaw_at("EXPERIMENT_TWICE", event, f"{fact.experiment} queued again"))
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
                flaws.append(flaw_at("BOOKS", event, told))
    if _finished(events):
        flaws += [
            Flaw(code="BOOKS", where=f"intent {intent}", what="its probe or job was never paid")
            for intent in took
        ]
    return flaws


def nothing_after_the_end(events: Sequence[Event]) -> list[Flaw]:
    """No event follows the end of the run, but turns that were under way and owners that look."""
    for index, event in enumerate(events):
        if isinstance(event.fact, RunFinished):
            late = [
                e for e in events[index + 1 :] if not e.fact.type.startswith(("turn.", "action."))
            ]
            return [flaw_at("AFTER_END", e, f"{e.fact.type} after the run was over") for e in late]
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
    data_is_registered,
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
        yield flaw_at("EXPERIMENT_UNKNOWN", event, f"{fact.experiment} ends without being queued")
    if fact.experiment in ended:
        yield flaw_at("EXPERIMENT_TWICE", event, f"{fact.experiment} ends again")
    if abs(fact.spent.device_seconds - seconds) > 1e-6:
        spent = fact.spent.device_seconds
        yield flaw_at("BOOKS", event, f"{spent:g} device seconds spent, attempts took {seconds:g}")


def _finished(events: Sequence[Event]) -> bool:
    return any(isinstance(event.fact, RunFinished) for event in events)
