"""All laws that a record is held to, with those that need a domain: the ranking behind a claim, and
how an owner ends a run."""

from collections.abc import Callable, Sequence
from typing import Final

from rsi_master.core.contract import Contract
from rsi_master.core.event import Event
from rsi_master.core.ports import ObjectStore
from rsi_master.core.run import ClaimOpened, RunFinished
from rsi_master.core.state import State
from rsi_master.domains.planning import rules
from rsi_master.expos.books import CHECKS, within
from rsi_master.expos.catalogue import Question
from rsi_master.expos.conclusion import conclusion
from rsi_master.expos.laws.jobs import as_told
from rsi_master.expos.laws.law import Check, flaw, states
from rsi_master.expos.laws.policy import within_policy
from rsi_master.expos.order import Flaw


def laws(objects: ObjectStore, contract: Contract | None) -> tuple[Check, ...]:
    """The laws of a record with those artifacts; those of its contract only where there is one that
    can be read."""
    plain = (*CHECKS, as_told(objects))
    if contract is None:
        return plain
    return (
        *plain,
        within(contract.budget),
        within_policy(contract),
        claimed_first(contract),
        concluded(contract),
    )


def claimed_first(contract: Contract) -> Check:
    """The law that what is claimed was at that moment what might be: verified under the fixed seed,
    and the first of such in the ranking on confirm."""

    def the_claim_was_due(events: Sequence[Event]) -> list[Flaw]:
        return [
            flaw("CLAIM_UNVERIFIED", event, f"claims {event.fact.experiment}, but {told}")
            for state, event in states(contract, events)
            if isinstance(event.fact, ClaimOpened)
            and (told := rules.claim_is_due(Question(event.caller, event.fact, state, contract)))
        ]

    return the_claim_was_due


def concluded(contract: Contract) -> Check:
    """The law that a run ended as its owner must have concluded: with the claimed checkpoint as
    champion if and only if the claim shows a gain and nothing behind it is flagged."""

    def the_end_was_due(events: Sequence[Event]) -> list[Flaw]:
        return [
            flaw("CHAMPION", event, told)
            for state, event in states(contract, events)
            if isinstance(event.fact, RunFinished)
            and (told := _undue(state, event, event.fact, contract))
        ]

    return the_end_was_due


def _undue(state: State, event: Event, end: RunFinished, contract: Contract) -> str | None:
    claimed = state.claim.experiment if state.claim and end.outcome == "champion" else None
    if end.champion != claimed:
        return f"the champion is {end.champion}, and the claim makes it {claimed}"
    if end.outcome == "stopped":
        return None if state.stop_asked else "it was stopped, and nobody asked for that"
    if end.outcome == "budget":
        over = state.wall(event.at) > contract.budget.wall_seconds
        return None if over else "the budget ended it, and its wall clock was not over"
    if state.finish_asked is None:
        return f"it ended with {end.outcome}, and nobody asked to finish"
    outcome, why = conclusion(state, state.finish_asked.reason)
    if outcome == end.outcome:
        return None
    return f"it ended with {end.outcome}, and the record calls for {outcome}: {why}"


MADE: Final[tuple[Callable[..., Check], ...]] = (
    as_told,
    within,
    within_policy,
    claimed_first,
    concluded,
)
"""What makes the laws that are not in `CHECKS`, each named for its law."""
