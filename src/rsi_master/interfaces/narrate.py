"""What an event means to the operator, in one sentence; most events mean nothing worth a line."""

from collections import Counter
from dataclasses import dataclass
from functools import singledispatch

from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import (
    AttemptEnded,
    AttemptFenced,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.graph import (
    DirectionClosed,
    DirectionReopened,
    ReviewRequested,
    ReviewSubmitted,
    WorkerCreated,
    WorkerFinalised,
)
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import (
    ActionDenied,
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
    TurnEnded,
)
from rsi_master.core.state import State
from rsi_master.core.text import line
from rsi_master.interfaces import operations, words
from rsi_master.interfaces.resolution import ASSUMED, resolution


@dataclass(frozen=True)
class Line:
    """One notable thing; `at` counts the run's own seconds."""

    at: float
    topic: str
    text: str

    def head(self) -> str:
        """When, and about what."""
        return f"{self.at:7.1f}s  {self.topic:<8}  "

    def __str__(self) -> str:
        return self.head() + self.text


def narrate(event: Event, state: State) -> Line | None:
    """The line of an event in the state right after it, or None."""
    told = _tell(event.fact, event, state)
    if told is None:
        return None
    topic, text = told
    return Line(state.wall(event.at), topic, line(text))


Told = tuple[str, str] | None


@singledispatch
def _tell(fact: Fact, event: Event, state: State) -> Told:
    """Facts without a line of their own."""
    return None


@_tell.register
def _(fact: RunOpened, event: Event, state: State) -> Told:
    size = f", {fact.parameters:,} parameters" if fact.parameters else ""
    sealed = fact.sealed
    tasks = words.listed(sealed.tasks)
    shows = resolution(sealed.sizes)
    return "run", (
        f"{fact.run} opens: base{size}; sealed benchmark {sealed.benchmark} ({tasks}), "
        f"which shows {shows} ({ASSUMED})"
    )


@_tell.register
def _(fact: OwnerStarted, event: Event, state: State) -> Told:
    verb = "resumes" if fact.resumed else "starts"
    return "run", f"{verb} with isolation tier '{fact.tier}'{_caveat(fact.tier)}"


def _caveat(tier: str) -> str:
    if tier == "none":
        return ": NOT ISOLATED, so nothing is claimed about integrity"
    return (
        "" if tier in ("host", "namespaces") else ": weaker than namespaces, see the threat model"
    )


@_tell.register
def _(fact: ActionDenied, event: Event, state: State) -> Told:
    return "denied", f"{event.caller.node} asked for {fact.action}: {fact.reason}"


@_tell.register
def _(fact: TurnEnded, event: Event, state: State) -> Told:
    return ("turn", f"{fact.node} failed: {fact.detail}") if fact.outcome == "failed" else None


@_tell.register
def _(fact: DatasetRegistered, event: Event, state: State) -> Told:
    dropped, digest = fact.offered - fact.rows, fact.artifact.digest
    reasons = f" ({words.drops(fact.dropped)})" if dropped else ""
    first = state.datasets[digest].source.origin
    same = f", the same rows as {first}" if first != fact.source.origin else ""
    noun, short = fact.holds.removesuffix("s"), words.short(digest)
    if fact.source.parents:
        kept = words.count(fact.rows, noun)
        how = operations.told(fact.source)
        return "data", f"{fact.source.origin}: {how}; {kept} left{reasons} -> {short}{same}"
    return "data", (
        f"{fact.source.origin}: {words.count(fact.offered, noun)} offered, {fact.rows:,} kept, "
        f"{dropped:,} dropped{reasons} -> {short}{same}"
    )


@_tell.register
def _(fact: DatasetRefused, event: Event, state: State) -> Told:
    offered = words.count(fact.offered, "row")
    reasons = words.drops(fact.dropped)
    return "data", f"{fact.source.origin}: {offered} offered, all dropped ({reasons})"


@_tell.register
def _(fact: ExperimentQueued, event: Event, state: State) -> Told:
    doing = words.training(state, state.experiments[fact.experiment], brief=True)
    return fact.worker, f"submits {words.short(fact.experiment)}: {doing}"


@_tell.register
def _(fact: AttemptEnded, event: Event, state: State) -> Told:
    if fact.ending == "ok":
        return None
    name = words.short(fact.experiment)
    why = f": {fact.detail}" if fact.detail else ""
    return "job", f"{name}, attempt {fact.fence} to {fact.stage}, {fact.ending}{why}"


@_tell.register
def _(fact: AttemptFenced, event: Event, state: State) -> Told:
    name = words.short(fact.experiment)
    return "job", f"{name}: a late result of attempt {fact.fence} is kept and ignored"


@_tell.register
def _(fact: CheckpointStored, event: Event, state: State) -> Told:
    proof = fact.proof
    loss = f", last loss {proof.final_loss:.3g}" if proof.final_loss is not None else ""
    used = words.seconds(state.experiments[fact.experiment].device_seconds())
    steps = words.count(proof.steps, "step")
    return "trained", f"{words.short(fact.experiment)}: {steps}{loss}, {used} of a device"


@_tell.register
def _(fact: EvaluationRecorded, event: Event, state: State) -> Told:
    name = words.short(fact.experiment)
    scores = ", ".join(f"{one.split} {words.score(one.average)}" for one in fact.scores)
    return "scored", f"{name}: {scores}"


@_tell.register
def _(fact: ExperimentEnded, event: Event, state: State) -> Told:
    if fact.lifecycle == "finished":
        return None
    detail = f": {fact.detail}" if fact.detail else ""
    return fact.lifecycle, f"{words.short(fact.experiment)}: {fact.reason}{detail}"


@_tell.register
def _(fact: IntegritySet, event: Event, state: State) -> Told:
    if fact.integrity == "accepted":
        return None
    return "flagged", f"{words.short(fact.experiment)} by {fact.by}: {fact.reason}"


@_tell.register
def _(fact: ProbeRecorded, event: Event, state: State) -> Told:
    asked = words.count(fact.questions, "practice question")
    return fact.worker, f"probes {words.short(fact.experiment)}: {fact.right} right of {asked}"


@_tell.register
def _(fact: ProbeFailed, event: Event, state: State) -> Told:
    return fact.worker, f"probes {words.short(fact.experiment)} in vain: {fact.reason}"


@_tell.register
def _(fact: ProgramAdded, event: Event, state: State) -> Told:
    digest, met = words.short(fact.artifact.digest), words.count(fact.examples, "test")
    return fact.by, f"adds {fact.kind} {fact.title}, which meets {met} -> {digest}"


@_tell.register
def _(fact: MakingEnded, event: Event, state: State) -> Told:
    took = f"{fact.program}, {words.seconds(fact.seconds)} of a device"
    return fact.worker, f"{took}, in vain: {fact.problem}" if fact.problem else took


@_tell.register
def _(fact: WorkerCreated, event: Event, state: State) -> Told:
    share = words.count(fact.experiments, "experiment")
    return "main", f"opens {fact.node}: {fact.direction}, up to {share}"


@_tell.register
def _(fact: WorkerFinalised, event: Event, state: State) -> Told:
    return fact.node, f"finalises: {fact.summary}"


@_tell.register
def _(fact: ReviewRequested, event: Event, state: State) -> Told:
    return "main", f"asks {fact.node} to review {words.listed(fact.scope)}: {fact.question}"


@_tell.register
def _(fact: ReviewSubmitted, event: Event, state: State) -> Told:
    verdicts = Counter(finding.verdict for finding in fact.findings)
    told = words.listed((f"{number} {verdict}" for verdict, number in verdicts.items()), "none")
    return fact.node, f"reports findings: {told}; {fact.recommendation}"


@_tell.register
def _(fact: DirectionClosed, event: Event, state: State) -> Told:
    return "main", f"closes {fact.node}: {fact.reason}"


@_tell.register
def _(fact: DirectionReopened, event: Event, state: State) -> Told:
    return "main", f"reopens {fact.node}: {fact.reason}"


@_tell.register
def _(fact: GuidanceGiven, event: Event, state: State) -> Told:
    return "operator", f"tells Main: {fact.text}"


@_tell.register
def _(fact: ClaimOpened, event: Event, state: State) -> Told:
    told = "its recipe leads the ranking, and this is its training on the seed fixed beforehand"
    return "main", f"claims {words.short(fact.experiment)}: {told}; the holdout is opened once"


@_tell.register
def _(fact: ClaimScored, event: Event, state: State) -> Told:
    champion, base = words.split(fact.result.champion), words.split(fact.result.base)
    return "claim", f"holdout: champion {champion}, base {base}"


@_tell.register
def _(fact: ClaimFailed, event: Event, state: State) -> Told:
    return "claim", f"the opening of the holdout gave no score: {fact.reason}"


@_tell.register
def _(fact: FinishAsked, event: Event, state: State) -> Told:
    return "main", f"finishes: {fact.reason}"


@_tell.register
def _(fact: StopAsked, event: Event, state: State) -> Told:
    return "operator", f"stops the run: {fact.reason}"


@_tell.register
def _(fact: RunPaused, event: Event, state: State) -> Told:
    return "operator", f"pauses the run: {fact.reason}"


@_tell.register
def _(fact: RunUnpaused, event: Event, state: State) -> Told:
    return "operator", "lets the run go on"


@_tell.register
def _(fact: RunFinished, event: Event, state: State) -> Told:
    return "run", f"is over ({fact.outcome.replace('_', ' ')}): {fact.reason}"
