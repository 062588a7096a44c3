"""Laws of actions: outcomes, what they spent, and that none comes after the end."""

from collections.abc import Sequence

from rsi_master.core.event import Event
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.run import ActionIntended, ActionSettled, RunFinished
from rsi_master.expos.laws.law import finished, flaw
from rsi_master.expos.order import Flaw


def intents_are_settled(events: Sequence[Event]) -> list[Flaw]:
    """Every intent has one outcome; in a finished run none is open."""
    open_: dict[str, int] = {}
    flaws = []
    for event in events:
        if isinstance(event.fact, ActionIntended):
            open_[event.fact.intent] = event.position
        elif isinstance(event.fact, ActionSettled) and open_.pop(event.fact.intent, None) is None:
            flaws.append(flaw("OUTCOME_WITHOUT_INTENT", event, "no open intent of that id"))
    if finished(events):
        flaws += [
            Flaw(code="INTENT_OPEN", where=f"event {at}", what="never settled, and the run is over")
            for at in open_.values()
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
                flaws.append(flaw("BOOKS", event, told))
    if finished(events):
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
            return [flaw("AFTER_END", e, f"{e.fact.type} after the run was over") for e in late]
    return []
