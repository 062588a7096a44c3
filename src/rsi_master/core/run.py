"""Facts of the run itself and of the gateway: opening, turns, intents, claims, the end."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from rsi_master.core.action import Amounts, NodeId
from rsi_master.core.artifact import Artifact
from rsi_master.core.event import Fact
from rsi_master.core.job import Tier
from rsi_master.core.score import ClaimResult
from rsi_master.core.sealed import SealedSet

TurnRole = Literal["main", "worker", "reviewer"]
Trigger = Literal[
    "start", "worker_finalised", "review_reported", "created", "results", "claimed", "closing"
]

Denial = Literal["deny", "escalate", "over_budget"]
# The rule of a denial because a text repeats a sealed item, and what the record keeps in the place
# of such words, whatever they were denied for.
SCREENED = "screen"
REPEATS: dict[str, object] = {"withheld": "the text repeats a sealed item"}


class RunOpened(Fact):
    """The run begins: contract, base, sealed set, isolation that holds, versions. Version 1 knew
    no verifier of the sealed set, version 2 no practice questions, version 3 no suite."""

    type = "run.opened"
    version = 4

    run: str
    contract: Artifact
    base: Artifact
    parameters: int | None
    sealed: SealedSet
    tier: Tier
    recipes: dict[str, str]
    versions: dict[str, str]
    platform: str

    @classmethod
    def upcast(cls, version: int, fields: Mapping[str, object]) -> Mapping[str, object]:
        """See `Fact`."""
        added: dict[str, object] = {"verifier": None, "practice": 0, "suite": None}
        if not 1 <= version <= len(added):
            return super().upcast(version, fields)
        sealed = fields["sealed"]
        if not isinstance(sealed, dict):
            raise TypeError(f"{cls.type}: sealed is {type(sealed).__name__}")
        later = dict(list(added.items())[version - 1 :])
        return {**fields, "sealed": cls.extended(sealed, **later)}


class OwnerStarted(Fact):
    """An owner took the run; every owner but the first resumes it."""

    type = "owner.started"

    resumed: bool
    tier: Tier
    platform: str
    versions: dict[str, str] = Field(default_factory=dict)


class ActionIntended(Fact):
    """An action was allowed and is about to be carried out; durable before the effect."""

    type = "action.intended"

    intent: str
    action: str
    arguments: dict[str, object]
    reserve: Amounts


class ActionDenied(Fact):
    """An action was not allowed: recorded as attempted and blocked, no violation."""

    type = "action.denied"

    action: str
    arguments: dict[str, object]
    decision: Denial
    rule: str
    reason: str


class ActionRead(Fact):
    """An agent asked for evidence; written without waiting, so that access can be audited."""

    type = "action.read"

    action: str
    arguments: dict[str, object]


class ActionSettled(Fact):
    """The outcome of an intent: done or a typed failure. `heir` goes on holding the reservation."""

    type = "action.settled"

    intent: str
    outcome: Literal["done", "failed", "abandoned"]
    code: str = ""
    message: str = ""
    heir: str | None = None
    spent: Amounts = Amounts()


class TurnStarted(Fact):
    """A role was asked to act; `order` is the id that `research.step` gave the question."""

    type = "turn.started"

    order: str
    role: TurnRole
    node: NodeId
    trigger: Trigger


class TurnEnded(Fact):
    """The turn is over; a failed one may be asked again."""

    type = "turn.ended"

    order: str
    node: NodeId
    outcome: Literal["done", "failed", "interrupted"]
    detail: str = ""


class GuidanceGiven(Fact):
    """A person told Main something at its planning stage."""

    type = "run.guided"

    text: str


class ClaimOpened(Fact):
    """The holdout is about to be opened for the champion; durable before the sealed process."""

    type = "claim.opened"

    experiment: str
    intent: str
    name: str


class ClaimScored(Fact):
    """The one opening's result."""

    type = "claim.scored"

    experiment: str
    name: str
    result: ClaimResult
    spent: Amounts


class ClaimFailed(Fact):
    """The opening gave no score, and why."""

    type = "claim.failed"

    experiment: str
    name: str
    reason: str
    spent: Amounts


class FinishAsked(Fact):
    """Main considers the research done; running work still ends."""

    type = "run.finish_asked"

    reason: str


class StopAsked(Fact):
    """A person stops the run for good."""

    type = "run.stop_asked"

    reason: str


class RunPaused(Fact):
    """A person holds the run: no new jobs and no turns until it is resumed."""

    type = "run.paused"

    reason: str


class RunUnpaused(Fact):
    """The run goes on."""

    type = "run.unpaused"


class RunFinished(Fact):
    """The end: with a champion, without, or stopped by a person or the budget."""

    type = "run.finished"

    outcome: Literal["champion", "no_champion", "stopped", "budget"]
    champion: str | None
    reason: str
