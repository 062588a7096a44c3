"""The action `experiment.probe`: what a checkpoint answers to open practice questions."""

from dataclasses import dataclass

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.canonical import encode
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Broken, Misuse, RsiError
from rsi_master.core.event import Fact
from rsi_master.core.experiment import BASE, ExperimentId
from rsi_master.core.model import Value
from rsi_master.core.probe import (
    Count,
    PracticeAnswer,
    ProbeFailed,
    ProbeRecorded,
    ProbeResult,
    Start,
    Task,
    Window,
)
from rsi_master.core.state import State
from rsi_master.core.text import clean
from rsi_master.expos import standing
from rsi_master.expos.catalogue import Desk, Entry, Outcome, Question, Rule
from rsi_master.expos.lineage import checkpoint_of
from rsi_master.expos.probing import Probe as Asked


class Probe(Action):
    """Put `count` open practice questions, of one task or of all, to the base or to an accepted
    checkpoint of one's own or of a designated predecessor, and see the whole outputs with their
    verdicts. The questions score nothing anywhere. A probe takes device seconds, and one of as many
    as the contract gives a Worker.
    """

    name = "experiment.probe"
    effect = "record"

    experiment: ExperimentId = BASE
    task: Task | None = None
    start: Start = 0
    count: Count = 16

    def window(self) -> Window:
        """Which questions are asked."""
        return Window(task=self.task, start=self.start, count=self.count)


class ProbeView(Value):
    """What the checkpoint answered, and how many probes the Worker has left."""

    experiment: str
    total: int
    start: int
    answers: tuple[PracticeAnswer, ...]
    device_seconds: float
    left: int


class FailedProbeView(Value):
    """There are no answers; what the probe used stays spent."""

    experiment: str
    failed: str
    device_seconds: float
    left: int


@dataclass(frozen=True)
class Probed:
    """The fact of a probe, the answers of `total` that there are, and how many probes are left."""

    fact: ProbeRecorded | ProbeFailed
    left: int
    answers: tuple[PracticeAnswer, ...] = ()
    total: int = 0


def _ask(action: Probe, desk: Desk) -> Probed:
    checkpoint, weights = checkpoint_of(desk.state, action.experiment)
    asked = Asked(
        name=f"probe-{desk.intent}",
        worker=desk.caller.node,
        checkpoint=checkpoint,
        window=action.window(),
        seconds=reserve(action, desk.state, desk.contract).device_seconds,
    )
    found = desk.probing.ask(asked)
    if isinstance(found.result, Misuse):
        raise found.result
    result = found.result
    if isinstance(result, ProbeResult) and result.weights != weights:
        result = Broken("OTHER_WEIGHTS", "the weights that answered are not those trained")
    allowed = desk.contract.research.probes_per_worker
    left = desk.state.probes_left(desk.caller.node, allowed) - 1
    if isinstance(result, RsiError):
        return Probed(_failed(action, desk, result, found.seconds), left)
    return Probed(_recorded(action, desk, result), left, result.answers, result.total)


def _failed(action: Probe, desk: Desk, problem: RsiError, seconds: float) -> ProbeFailed:
    return ProbeFailed(
        intent=desk.intent,
        worker=desk.caller.node,
        experiment=action.experiment,
        window=action.window(),
        reason=clean(problem.message),
        seconds=seconds,
    )


def _recorded(action: Probe, desk: Desk, result: ProbeResult) -> ProbeRecorded:
    lines = b"".join(encode(one.model_dump(mode="json")) + b"\n" for one in result.answers)
    return ProbeRecorded(
        intent=desk.intent,
        worker=desk.caller.node,
        experiment=action.experiment,
        window=action.window(),
        questions=len(result.answers),
        right=sum(one.verdict == "right" for one in result.answers),
        outputs=desk.objects.put_bytes("outputs", lines),
        weights=result.weights,
        protocol=result.protocol,
        seconds=result.seconds,
    )


def _record(_action: Probe, desk: Desk) -> Outcome:
    """Generating and storing happened before, without the lock."""
    found: Probed = desk.prepared
    return Outcome(found, _evidence(found))


def _evidence(found: Probed) -> tuple[Fact, ...]:
    return (found.fact,)


def _used(found: Probed) -> Amounts:
    return Amounts(device_seconds=found.fact.seconds)


def reserve(_action: Probe, state: State, _contract: Contract) -> Amounts:
    """As much as one evaluation may take; a probe pays what it used."""
    return Amounts(device_seconds=state.costs.scoring.device_seconds)


def _view(record: Probed, _contract: Contract) -> ProbeView | FailedProbeView:
    fact, seconds = record.fact, round(record.fact.seconds, 3)
    if isinstance(fact, ProbeFailed):
        return FailedProbeView(
            experiment=fact.experiment,
            failed=fact.reason,
            device_seconds=seconds,
            left=record.left,
        )
    return ProbeView(
        experiment=fact.experiment,
        total=record.total,
        start=fact.window.start,
        answers=record.answers,
        device_seconds=seconds,
        left=record.left,
    )


def _practice_is_there(question: Question) -> str | None:
    """The benchmark has practice questions, and the window lies among them."""
    opened, window = question.state.opened, question.action.window()
    total = opened.sealed.practice if opened else 0
    if opened is None or total == 0:
        return "the sealed set has no practice questions to probe with"
    if window.task is not None and window.task not in opened.sealed.tasks:
        return f"there is no task {window.task!r}; there are {', '.join(opened.sealed.tasks)}"
    if window.start >= total:
        return f"there are {total} practice questions; start below that"
    return None


def _probes_are_left(question: Question) -> str | None:
    allowed = question.contract.research.probes_per_worker
    if question.state.probes_left(question.caller.node, allowed):
        return None
    return f"the contract allows {allowed} probes a Worker and all are used"


ENTRY = Entry(Probe, _record, {Role.WORKER: _view}, reserve, _ask, _used, _evidence)
RULES = (
    Rule("active", Probe, standing.worker_is_active),
    Rule("clock", Probe, standing.wall_clock_is_left),
    Rule("practice", Probe, _practice_is_there),
    Rule("lineage", Probe, standing.checkpoint_is_open),
    Rule("probes", Probe, _probes_are_left),
    Rule("verification", Probe, standing.verification_stays_affordable(reserve)),
)
