"""The planning domain: Workers, directions, candidates, the claim."""

from rsi_master.core.action import Action, NodeId, Role, Text
from rsi_master.core.contract import Contract
from rsi_master.core.graph import DirectionClosed, DirectionReopened
from rsi_master.core.model import Value
from rsi_master.core.run import ClaimOpened
from rsi_master.domains.planning import rules, workers
from rsi_master.domains.planning.ranking import Candidate, rank
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Rule


class Close(Action):
    """Close a direction with the reason; its experiments stay in the record. No exploration builds
    on it until it is reopened."""

    name = "direction.close"
    effect = "record"

    node: NodeId
    reason: Text


class Reopen(Action):
    """Open a closed direction again with the reason: explorations may build on it once more."""

    name = "direction.reopen"
    effect = "record"

    node: NodeId
    reason: Text


class Read(Action):
    """Read the ranking of recipes by their mean over seeds on confirm."""

    name = "candidates.read"
    effect = "read"


class Claim(Action):
    """Open the holdout once for the champion: the verified checkpoint that ranks first."""

    name = "champion.claim"
    effect = "work"

    experiment: str


class ClosedView(Value):
    """The direction is closed."""

    node: NodeId


class ReopenedView(Value):
    """The direction is open again."""

    node: NodeId


class Place(Value):
    """A recipe's place in the ranking, without the score that gave it."""

    effective: str
    experiments: tuple[str, ...]
    family: str
    seeds: int
    claimable: str | None


class PlacesView(Value):
    """Candidates, best first, as Main sees them."""

    candidates: tuple[Place, ...]


class RankingView(Value):
    """Candidates with their means on confirm, best first."""

    candidates: tuple[Candidate, ...]


class ClaimView(Value):
    """The opening has begun; its result comes as an event."""

    name: str
    experiment: str


def _close(action: Close, desk: Desk) -> Outcome:
    fact = DirectionClosed(node=action.node, reason=action.reason)
    return Outcome(fact, (fact,))


def _reopen(action: Reopen, desk: Desk) -> Outcome:
    fact = DirectionReopened(node=action.node, reason=action.reason)
    return Outcome(fact, (fact,))


def _read(_action: Read, desk: Desk) -> Outcome:
    return Outcome(RankingView(candidates=rank(desk.state, desk.contract.policy.seed_of_promotion)))


def _claim(action: Claim, desk: Desk) -> Outcome:
    name = f"claim-{desk.intent}"
    fact = ClaimOpened(experiment=action.experiment, intent=desk.intent, name=name)
    return Outcome(fact, (fact,))


def _closed(record: DirectionClosed, _contract: Contract) -> ClosedView:
    return ClosedView(node=record.node)


def _reopened(record: DirectionReopened, _contract: Contract) -> ReopenedView:
    return ReopenedView(node=record.node)


def _places(record: RankingView, _contract: Contract) -> PlacesView:
    return PlacesView(
        candidates=tuple(
            Place(
                effective=candidate.effective,
                experiments=candidate.experiments,
                family=candidate.family,
                seeds=candidate.seeds,
                claimable=candidate.claimable,
            )
            for candidate in record.candidates
        )
    )


def _ranking(record: RankingView, _contract: Contract) -> RankingView:
    return record


def _opened(record: ClaimOpened, _contract: Contract) -> ClaimView:
    return ClaimView(name=record.name, experiment=record.experiment)


DOMAIN = Domain(
    "planning",
    (
        *workers.ENTRIES,
        Entry(Close, _close, {Role.MAIN: _closed}),
        Entry(Reopen, _reopen, {Role.MAIN: _reopened}),
        Entry(Read, _read, {Role.MAIN: _places, Role.OPERATOR: _ranking}),
        Entry(Claim, _claim, {Role.MAIN: _opened}),
    ),
    (
        *workers.RULES,
        Rule("finalised", Close, rules.worker_is_finalised),
        Rule("closed", Close, rules.direction_is_open),
        Rule("finalised", Reopen, rules.worker_is_finalised),
        Rule("closed", Reopen, rules.direction_is_closed),
        Rule("claim", Claim, rules.claim_is_due),
    ),
)
