"""The state of a run: every projection, folded from events in order. Replaying the same events
gives the same state; nothing else writes it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import singledispatchmethod

from rsi_master.core.budget import CLAIM, Books, Costs
from rsi_master.core.choice import Choice, choice
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import (
    BASE,
    Attempt,
    AttemptEnded,
    AttemptFenced,
    AttemptPlanned,
    CancelAsked,
    CheckpointStored,
    EvaluationRecorded,
    Experiment,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    Node,
    ResearchGraph,
    ReviewRequested,
    ReviewSubmitted,
    WorkerCreated,
    WorkerFinalised,
)
from rsi_master.core.job import Tier, weaker
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.program import JOB, ProgramAdded
from rsi_master.core.run import (
    REPEATS,
    ActionDenied,
    ActionIntended,
    ActionSettled,
    ClaimFailed,
    ClaimOpened,
    ClaimScored,
    FinishAsked,
    GuidanceGiven,
    OwnerStarted,
    RunFinished,
    RunOpened,
    RunPaused,
    RunUnpaused,
    StopAsked,
)


@dataclass
class State:
    """All that the record says at one position. Mutable, written by `apply` alone.

    `tier` is the isolation under the present owner, `weakest` the weakest under any owner so far.
    `choice` is the last thing that Main decided. `submissions` counts datasets offered to the scan,
    programs added, and jobs of programs that failed: each such job is one of them.
    """

    books: Books
    costs: Costs
    opened: RunOpened | None = None
    owners: int = 0
    owner_since: float | None = None
    tier: Tier | None = None
    weakest: Tier | None = None
    wall_before: float = 0.0
    position: int = -1
    at: float = 0.0
    datasets: dict[str, DatasetRegistered] = field(default_factory=dict)
    programs: dict[str, ProgramAdded] = field(default_factory=dict)
    experiments: dict[str, Experiment] = field(default_factory=dict)
    graph: ResearchGraph = field(default_factory=ResearchGraph)
    choice: Choice | None = None
    intents: dict[str, ActionIntended] = field(default_factory=dict)
    submissions: int = 0
    probes: dict[str, int] = field(default_factory=dict)
    denials: int = 0
    screened: dict[str, int] = field(default_factory=dict)
    guidance: list[GuidanceGiven] = field(default_factory=list)
    claim: ClaimOpened | None = None
    claim_position: int = -1
    claimed: ClaimScored | ClaimFailed | None = None
    finish_asked: FinishAsked | None = None
    stop_asked: StopAsked | None = None
    paused: bool = False
    finished: RunFinished | None = None

    @staticmethod
    def under(contract: Contract) -> "State":
        """The empty state of a run under that contract."""
        return State(books=Books.of(contract.budget), costs=Costs.of(contract))

    @staticmethod
    def replay(contract: Contract, events: Iterable[Event]) -> "State":
        """The state after those events."""
        state = State.under(contract)
        for event in events:
            state.apply(event)
        return state

    def apply(self, event: Event) -> None:
        """Fold one event."""
        if isinstance(event.fact, OwnerStarted):
            self._leave_attempts()
        if isinstance(event.fact, OwnerStarted | RunPaused | RunFinished):
            self.wall_before = self.wall(self.at)
        self.position = event.position
        self.at = event.at
        if isinstance(event.fact, ActionDenied) and event.fact.arguments == REPEATS:
            node = event.caller.node
            self.screened[node] = self.screened.get(node, 0) + 1
        self.choice = choice(event) or self.choice
        self._fold(event.fact)

    def wall(self, now: float) -> float:
        """Seconds up to `now` during which an owner was at work and the run was not paused."""
        if self.owner_since is None or self.paused:
            return self.wall_before
        return self.wall_before + max(0.0, now - self.owner_since)

    def parameters(self) -> int:
        """How many weights the base has; 0 where that is not recorded."""
        return (self.opened.parameters or 0) if self.opened else 0

    def probes_left(self, worker: str, allowed: int) -> int:
        """How many more probes a Worker has of those that are allowed."""
        return max(0, allowed - self.probes.get(worker, 0))

    def owned(self, node: str) -> list[Experiment]:
        """Experiments of a Worker, oldest first."""
        return [e for e in self.experiments.values() if e.queued and e.queued.worker == node]

    def active_workers(self) -> list[Node]:
        """Workers that are not finalised."""
        return [node for node in self.graph.workers() if node.active()]

    def unfinished(self) -> list[Experiment]:
        """Experiments whose lifecycle has not ended."""
        return [e for e in self.experiments.values() if e.ended is None and e.queued is not None]

    @singledispatchmethod
    def _fold(self, fact: Fact) -> None:
        """Facts without a projection change nothing but the position."""

    @_fold.register
    def _(self, fact: RunOpened) -> None:
        self.opened = fact
        self.books.hold(BASE, self.costs.base)
        self.books.hold(CLAIM, self.costs.claim)

    @_fold.register
    def _(self, fact: OwnerStarted) -> None:
        self.owners += 1
        self.owner_since = self.at
        self.tier = fact.tier
        self.weakest = weaker(self.weakest, fact.tier)

    @_fold.register
    def _(self, fact: ActionIntended) -> None:
        self.intents[fact.intent] = fact
        self.books.hold(fact.intent, fact.reserve)

    @_fold.register
    def _(self, fact: ActionDenied) -> None:
        self.denials += 1

    @_fold.register
    def _(self, fact: ActionSettled) -> None:
        self.intents.pop(fact.intent, None)
        if fact.heir is not None:
            self.books.hand_over(fact.intent, fact.heir)
        else:
            self.books.settle(fact.intent, fact.spent)

    @_fold.register
    def _(self, fact: DatasetRegistered) -> None:
        self.submissions += 1
        self.datasets.setdefault(fact.artifact.digest, fact)

    @_fold.register
    def _(self, fact: DatasetRefused) -> None:
        self.submissions += 1

    @_fold.register
    def _(self, fact: MakingEnded) -> None:
        if fact.program == JOB and fact.problem is not None:
            self.submissions += 1

    @_fold.register
    def _(self, fact: ProgramAdded) -> None:
        self.submissions += 1
        self.programs.setdefault(fact.artifact.digest, fact)

    @_fold.register
    def _(self, fact: ExperimentQueued) -> None:
        self.experiments[fact.experiment] = Experiment(fact.experiment, fact)

    @_fold.register
    def _(self, fact: AttemptPlanned) -> None:
        experiment = self._experiment(fact.experiment)
        experiment.attempts.append(Attempt(fact, self.at))
        experiment.lifecycle = "training" if fact.stage == "train" else "evaluating"

    @_fold.register
    def _(self, fact: AttemptEnded) -> None:
        for attempt in self._experiment(fact.experiment).attempts:
            if attempt.planned.job == fact.job:
                attempt.ended = fact

    @_fold.register
    def _(self, fact: AttemptFenced) -> None:
        for attempt in self._experiment(fact.experiment).attempts:
            if attempt.planned.job == fact.job:
                attempt.fenced = True

    @_fold.register
    def _(self, fact: CheckpointStored) -> None:
        experiment = self._experiment(fact.experiment)
        experiment.checkpoint = fact
        experiment.lifecycle = "trained"

    @_fold.register
    def _(self, fact: EvaluationRecorded) -> None:
        self._experiment(fact.experiment).evaluation = fact

    @_fold.register
    def _(self, fact: IntegritySet) -> None:
        experiment = self._experiment(fact.experiment)
        if experiment.integrity != "flagged":
            experiment.integrity = fact.integrity
            experiment.flag = fact.reason if fact.integrity == "flagged" else ""

    @_fold.register
    def _(self, fact: CancelAsked) -> None:
        self._experiment(fact.experiment).cancel_asked = True

    @_fold.register
    def _(self, fact: ExperimentEnded) -> None:
        experiment = self._experiment(fact.experiment)
        experiment.ended = fact
        experiment.lifecycle = fact.lifecycle
        self.books.settle(fact.experiment, fact.spent)

    @_fold.register(ProbeRecorded | ProbeFailed)
    def _(self, fact: ProbeRecorded | ProbeFailed) -> None:
        self.probes[fact.worker] = self.probes.get(fact.worker, 0) + 1

    @_fold.register
    def _(self, fact: WorkerCreated) -> None:
        self.graph.nodes[fact.node] = Node(fact.node, fact)

    @_fold.register
    def _(self, fact: WorkerFinalised) -> None:
        self.graph.nodes[fact.node].finalised = fact

    @_fold.register
    def _(self, fact: ReviewRequested) -> None:
        self.graph.nodes[fact.node] = Node(fact.node, fact)

    @_fold.register
    def _(self, fact: ReviewSubmitted) -> None:
        self.graph.nodes[fact.node].report = fact

    @_fold.register
    def _(self, fact: DirectionClosed) -> None:
        self.graph.nodes[fact.node].closed = fact

    @_fold.register
    def _(self, fact: DirectionReopened) -> None:
        self.graph.nodes[fact.node].closed = None

    @_fold.register
    def _(self, fact: GuidanceGiven) -> None:
        self.guidance.append(fact)

    @_fold.register
    def _(self, fact: ClaimOpened) -> None:
        self.claim = fact
        self.claim_position = self.position

    @_fold.register
    def _(self, fact: ClaimScored) -> None:
        self.claimed = fact
        self.books.settle(CLAIM, fact.spent)

    @_fold.register
    def _(self, fact: ClaimFailed) -> None:
        self.claimed = fact
        self.books.settle(CLAIM, fact.spent)

    @_fold.register
    def _(self, fact: FinishAsked) -> None:
        self.finish_asked = fact

    @_fold.register
    def _(self, fact: StopAsked) -> None:
        self.stop_asked = fact

    @_fold.register
    def _(self, fact: RunPaused) -> None:
        self.paused = True

    @_fold.register
    def _(self, fact: RunUnpaused) -> None:
        self.paused = False
        self.owner_since = self.at

    @_fold.register
    def _(self, fact: RunFinished) -> None:
        self.finished = fact
        self.owner_since = None
        self.books.held.clear()

    def _leave_attempts(self) -> None:
        """Another owner comes: open attempts that have not been left yet are left at the last event
        so far. Later owners, those of one action too, change nothing about it."""
        for experiment in self.experiments.values():
            attempt = experiment.running()
            if attempt is not None and attempt.left is None:
                attempt.left = self.at

    def _experiment(self, name: str) -> Experiment:
        return self.experiments.setdefault(name, Experiment(name, None))
