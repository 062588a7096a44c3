"""All laws that a record is held to: those over events alone, and those that need its contract."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.probe import ProbeRecorded
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import ClaimOpened, RunFinished
from rsi_master.core.state import State
from rsi_master.domains.planning.ranking import due
from rsi_master.expos.books import CHECKS, Check, within
from rsi_master.expos.conclusion import conclusion
from rsi_master.expos.order import Flaw, flaw_at


def laws(contract: Contract) -> tuple[Check, ...]:
    """Every law, under the contract of the record."""
    return (*CHECKS, *(law(contract) for law in UNDER_CONTRACT))


def spending_is_within(contract: Contract) -> Check:
    """No more was spent than the contract allows."""
    return within(contract.budget)


def claims_are_due(contract: Contract) -> Check:
    """The holdout is opened for what the ranking puts first of all that was verified under the seed
    that the contract fixed, and a champion is what the claim shows to be better."""

    def claims_are_due_(events: Sequence[Event]) -> list[Flaw]:
        state, flaws = State.under(contract), []
        for event in events:
            fact = event.fact
            if isinstance(fact, ClaimOpened):
                first = due(state, contract.policy.seed_of_promotion)
                if first != fact.experiment:
                    told = f"claims {fact.experiment}, and the ranking has {first or 'nothing'} due"
                    flaws.append(flaw_at("CLAIM_NOT_DUE", event, told))
            elif isinstance(fact, RunFinished) and fact.outcome == "champion":
                flaws += _champion(event, fact, state)
            state.apply(event)
        return flaws

    return claims_are_due_


def all_is_permitted(contract: Contract) -> Check:
    """Sources, ways to train and fresh seeds are those that the contract names."""
    ways, policy = frozenset(contract.policy.ways()), contract.policy

    def all_is_permitted_(events: Sequence[Event]) -> list[Flaw]:
        return [
            flaw_at("NOT_PERMITTED", event, f"the contract permits no {told}")
            for event in events
            for told in _strange(event)
        ]

    def _strange(event: Event) -> Iterator[str]:
        fact = event.fact
        if isinstance(fact, DatasetRegistered | DatasetRefused):
            if not fact.source.parents and fact.source.origin not in policy.sources:
                yield f"source {fact.source.origin!r}"
        elif isinstance(fact, ExperimentQueued):
            if fact.recipe.get("name") not in ways:
                yield f"recipe {fact.recipe.get('name')!r}"
            if fact.purpose == "verify" and fact.seed not in policy.promotion_seeds():
                yield f"verification under seed {fact.seed}"

    return all_is_permitted_


def counts_are_within(contract: Contract) -> Check:
    """No more was done than the contract allows of each kind: data submissions that came to
    something, programs, Workers, experiments and probes of a Worker."""
    policy, research = contract.policy, contract.research

    def counts_are_within_(events: Sequence[Event]) -> list[Flaw]:
        facts = [event.fact for event in events]
        programs = sum(isinstance(fact, ProgramAdded) for fact in facts)
        data = sum(isinstance(fact, DatasetRegistered | DatasetRefused) for fact in facts)
        created = [fact for fact in facts if isinstance(fact, WorkerCreated)]
        explored = [fact.experiments for fact in created if fact.purpose == "explore"]
        probed: dict[str, int] = {}
        for fact in facts:
            if isinstance(fact, ProbeRecorded):
                probed[fact.worker] = probed.get(fact.worker, 0) + 1
        found = {
            "policy.programs": (programs, policy.programs),
            "policy.submissions": (programs + data, policy.submissions),
            "research.workers": (len(created), research.workers),
            "research.experiments_per_worker": (
                max(explored, default=0),
                research.experiments_per_worker,
            ),
            "research.probes_per_worker": (
                max(probed.values(), default=0),
                research.probes_per_worker,
            ),
        }
        return [
            Flaw(code="OVER_CONTRACT", where=name, what=f"{count} where {limit} are allowed")
            for name, (count, limit) in found.items()
            if count > limit
        ]

    return counts_are_within_


def _champion(event: Event, fact: RunFinished, state: State) -> Iterator[Flaw]:
    """What is wrong with a champion: what the claim says, and of what."""
    outcome, reason = conclusion(state, fact.reason)
    claimed = state.claim.experiment if state.claim else None
    if outcome != "champion":
        yield flaw_at("CHAMPION", event, f"ends with a champion, and {reason}")
    elif fact.champion != claimed:
        yield flaw_at("CHAMPION", event, f"names {fact.champion}, and {claimed} was claimed")


UNDER_CONTRACT: Final[tuple[Callable[[Contract], Check], ...]] = (
    spending_is_within,
    claims_are_due,
    all_is_permitted,
    counts_are_within,
)
