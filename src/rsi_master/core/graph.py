"""The research graph: Worker and Reviewer nodes. Only Main extends it; ownership of experiments
is its only link to the experiment graph."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from rsi_master.core.action import NodeId, Text
from rsi_master.core.event import Fact
from rsi_master.core.experiment import Purpose
from rsi_master.core.model import Value

Finding = Literal["supported", "refuted", "inconclusive", "invalid"]


class WorkerCreated(Fact):
    """Main gave a direction to a new Worker; `data` is its starting point, and `recipe` the way to
    train that it is about, where Main names one.

    A verification trains one lineage again under fresh seed number `promotion`, counted from 0.
    Version 1 knew one fresh seed and no recipe.
    """

    type = "worker.created"
    version = 2

    node: NodeId
    direction: str
    hypothesis: str
    task: str
    purpose: Purpose
    predecessors: tuple[NodeId, ...]
    data: tuple[str, ...]
    recipe: str | None
    replicates: str | None
    promotion: int
    experiments: int

    @classmethod
    def upcast(cls, version: int, fields: Mapping[str, object]) -> Mapping[str, object]:
        """See `Fact`."""
        if version != 1:
            return super().upcast(version, fields)
        return cls.extended(fields, promotion=0, recipe=None)


class WorkerFinalised(Fact):
    """A Worker ended with a summary that cites its experiments; `by` the OS if it was spent."""

    type = "worker.finalised"

    node: NodeId
    summary: str
    cites: tuple[str, ...]
    best: str | None
    by: NodeId


class ReviewRequested(Fact):
    """Main ordered a review of finalised Workers."""

    type = "review.requested"

    node: NodeId
    question: str
    scope: tuple[NodeId, ...]


class Statement(Value):
    """One finding of a Reviewer: a claim, a verdict, and the records it rests on. A comparison
    names the experiment said to be `better` and the one it is better `than`."""

    claim: Text
    verdict: Finding
    records: Annotated[tuple[str, ...], Field(max_length=50)]
    better: str | None = None
    than: str | None = None


class ReviewSubmitted(Fact):
    """A Reviewer's report; it becomes evidence of each experiment in scope."""

    type = "review.submitted"

    node: NodeId
    findings: tuple[Statement, ...]
    violations: tuple[Statement, ...]
    regressions: tuple[str, ...]
    missing: tuple[str, ...]
    recommend: tuple[str, ...]
    recommendation: str
    by: NodeId


class DirectionClosed(Fact):
    """Main closed a direction, with the reason."""

    type = "direction.closed"

    node: NodeId
    reason: str


class DirectionReopened(Fact):
    """Main opened a closed direction again, with the reason."""

    type = "direction.reopened"

    node: NodeId
    reason: str


@dataclass
class Node:
    """A Worker or Reviewer with what became of it. `closed` is None again once it was reopened."""

    id: str
    created: WorkerCreated | ReviewRequested
    finalised: WorkerFinalised | None = None
    report: ReviewSubmitted | None = None
    closed: DirectionClosed | None = None

    def active(self) -> bool:
        """Whether the node still works."""
        return self.finalised is None and self.report is None


@dataclass
class ResearchGraph:
    """Nodes in order of birth."""

    nodes: dict[str, Node] = field(default_factory=dict)

    def workers(self) -> list[Node]:
        """All Worker nodes."""
        return [n for n in self.nodes.values() if isinstance(n.created, WorkerCreated)]

    def reviews(self) -> list[Node]:
        """All Reviewer nodes."""
        return [n for n in self.nodes.values() if isinstance(n.created, ReviewRequested)]

    def scope(self, node: str) -> tuple[str, ...]:
        """Workers that a Reviewer may look into."""
        created = self.nodes[node].created if node in self.nodes else None
        return created.scope if isinstance(created, ReviewRequested) else ()

    def predecessors(self, node: str) -> tuple[str, ...]:
        """Workers whose experiments a Worker may read and continue."""
        created = self.nodes[node].created if node in self.nodes else None
        return created.predecessors if isinstance(created, WorkerCreated) else ()
