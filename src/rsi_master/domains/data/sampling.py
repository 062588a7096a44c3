"""The action `data.sample`: training data out of a checkpoint's own answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.artifact import AnyRow, Digest
from rsi_master.core.canonical import decode
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Sampled, Source
from rsi_master.core.errors import RsiError
from rsi_master.core.event import Fact
from rsi_master.core.experiment import BASE, ExperimentId
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.job import Input, Job, Resources
from rsi_master.core.making import MakingEnded
from rsi_master.core.model import Value
from rsi_master.core.sealed_wire import FRAME_LIMIT
from rsi_master.core.state import State
from rsi_master.core.text import visible
from rsi_master.domains.data.actions import (
    DatasetView,
    RefusedView,
    capped,
    known,
    registered,
)
from rsi_master.domains.data.pool import parse, register
from rsi_master.domains.data.samples import (
    MAKES,
    NAME,
    PROGRAM,
    SampleConfig,
    SampleResult,
    SampleSpec,
)
from rsi_master.expos import standing
from rsi_master.expos.catalogue import Desk, Entry, Outcome, Question, Rule
from rsi_master.expos.lineage import checkpoint_of, refusal_of_data
from rsi_master.expos.making import Made, Order, ended, job_name

PROGRAMS: Final = {NAME: PROGRAM}
"""What jobs of this domain run, by the names in their orders."""
RESULT_BYTES: Final = 100_000
LOG_CHARS: Final = 2_000


class Sample(SampleSpec, Action):
    """Make a dataset of what the base, or an accepted checkpoint of one's own or of a designated
    predecessor, answers to prompts: of a dataset of prompts, or those of worked rows. The
    benchmark's open verifier judges the answers.

    `samples` answers are drawn to each of `prompts` prompts in the order of a shuffle by `seed`,
    at `temperature`, of at most `answer_tokens` tokens each. `keep` says what becomes of them:
    `right` keeps every answer with all points, equal ones once, at most `per_prompt` of a prompt;
    `pairs` makes one preference pair of each prompt whose answers differ in points, the best
    against the worst. It takes device seconds, and is one of the data submissions that the contract
    allows. An experiment that is trained on the data goes back to that checkpoint.
    """

    name = NAME
    effect = "record"

    experiment: ExperimentId = BASE
    dataset: Digest

    def spec(self) -> SampleSpec:
        """What the job is told."""
        return SampleSpec(**{name: getattr(self, name) for name in SampleSpec.model_fields})


class SampledView(Value):
    """What was drawn and kept: prompts asked, answers drawn, answers with all points, and the
    dataset, or why the scan left none."""

    experiment: str
    asked: int
    drawn: int
    right: int
    dataset: DatasetView | RefusedView
    device_seconds: float


class FailedSampleView(Value):
    """There is no data; what the job used stays spent. `log` is the end of its log."""

    experiment: str
    failed: str
    log: str
    device_seconds: float


@dataclass(frozen=True)
class Drawn:
    """The facts of a sampling, its figures, and the end of its log."""

    experiment: str
    job: MakingEnded
    result: SampleResult
    data: DatasetRegistered | DatasetRefused | None
    log: str


class Unusable(Exception):
    """The job left no rows, for this reason."""


def _sample(action: Sample, desk: Desk) -> Drawn:
    """Wait for the job, read what it left, have it scanned."""
    parent = known(desk, action.dataset)
    asked = {row.prompt for row in parse(desk.objects.get_bytes(action.dataset))}
    order = _order(action, desk, parent)
    made = desk.making.ask(order)
    result, data, problem = SampleResult(), None, None
    try:
        result, rows = _read(action, made, asked)
        data = register(
            rows, _source(action, desk, parent, result), order.worker, desk.sealed, desk.objects
        )
    except Unusable as reason:
        problem = str(reason)
    except RsiError as fault:
        problem = fault.message
    job = ended(desk.intent, order, made, problem, desk.objects)
    log = _tail(made.log) if problem else ""
    return Drawn(action.experiment, job, result, data, log)


def _order(action: Sample, desk: Desk, parent: DatasetRegistered) -> Order:
    checkpoint, _ = checkpoint_of(desk.state, action.experiment)
    opened = desk.state.opened
    config = SampleConfig(
        spec=action.spec(),
        holds=parent.holds,
        verifier=opened.sealed.verifier if opened else None,
    )
    job = Job(
        name=job_name(desk.intent),
        runtime=PROGRAM.runtime,
        program=NAME,
        config=config.model_dump(mode="json"),
        inputs=(
            Input(name="init", digest=checkpoint),
            Input(name="data.jsonl", digest=action.dataset),
        ),
        resources=Resources(seconds=reserve(action, desk.state, desk.contract).device_seconds),
    )
    wanted = {"result.json": RESULT_BYTES, "rows.jsonl": FRAME_LIMIT}
    return Order(desk.caller.node, job, wanted)


def _read(action: Sample, made: Made, asked: set[str]) -> tuple[SampleResult, tuple[AnyRow, ...]]:
    """Figures and rows of a job that ended well; raises Unusable, or Misuse for a line that is no
    row. It may say nothing but answers to what it was asked."""
    if made.problem is not None:
        raise Unusable(made.problem)
    result = _figures(made.files)
    if result.failure is not None:
        raise Unusable(f"{result.failure.code}: {result.failure.detail}")
    rows = parse(made.files["rows.jsonl"])
    if len(rows) != result.kept or not rows:
        raise Unusable(f"the job says it kept {result.kept} rows and left {len(rows)}")
    if any(row.kind != MAKES[action.keep] for row in rows):
        raise Unusable(f"the job left others than {MAKES[action.keep]}")
    if any(row.prompt not in asked for row in rows):
        raise Unusable("the job left an answer to a prompt that it was not asked")
    return result, rows


def _figures(files: Mapping[str, bytes]) -> SampleResult:
    try:
        return SampleResult.model_validate(decode(files["result.json"]))
    except (ValueError, ValidationError) as cause:
        raise Unusable("the job's result.json is no result") from cause


def _source(action: Sample, desk: Desk, parent: DatasetRegistered, result: SampleResult) -> Source:
    _, weights = checkpoint_of(desk.state, action.experiment)
    figures = result.model_dump(mode="json", exclude={"failure"})
    return Source(
        origin="+".join(f"samples of {part}" for part in parent.source.origin.split("+")),
        parents=(action.dataset,),
        operation={"sample": action.spec().model_dump(mode="json"), "found": figures},
        sampled=Sampled(experiment=action.experiment, weights=weights),
    )


def _record(_action: Sample, desk: Desk) -> Outcome:
    """Drawing, scanning and storing happened before, without the lock."""
    found: Drawn = desk.prepared
    return Outcome(found, (*_evidence(found), *((found.data,) if found.data else ())))


def _evidence(found: Drawn) -> tuple[Fact, ...]:
    return (found.job,)


def _used(found: Drawn) -> Amounts:
    return Amounts(device_seconds=found.job.seconds)


def reserve(action: Sample, state: State, _contract: Contract) -> Amounts:
    """The upper estimate of the job; it pays what it used."""
    dataset = state.datasets.get(action.dataset)
    rows = dataset.rows if dataset else 0
    return Amounts(device_seconds=action.device_seconds(rows, state.parameters()))


def _view(record: Drawn, contract: Contract) -> SampledView | FailedSampleView:
    seconds = round(record.job.seconds, 3)
    if record.data is None:
        return FailedSampleView(
            experiment=record.experiment,
            failed=record.job.problem or "",
            log=record.log,
            device_seconds=seconds,
        )
    return SampledView(
        experiment=record.experiment,
        asked=record.result.asked,
        drawn=record.result.drawn,
        right=record.result.right,
        dataset=registered(record.data, contract),
        device_seconds=seconds,
    )


def _tail(log: bytes) -> str:
    """The last lines of a log as text, at most LOG_CHARS letters."""
    return "\n".join(map(visible, log.decode("utf-8", "replace").splitlines()))[-LOG_CHARS:]


def _has_prompts_to_ask(question: Question) -> str | None:
    """A dataset that the pool lacks is the handler's to name."""
    fact = question.state.datasets.get(question.action.dataset)
    if fact is None or fact.holds != "pairs":
        return None
    return f"dataset {fact.artifact.digest[:19]} holds pairs; sample on prompts or on rows"


def _verifier_is_there(question: Question) -> str | None:
    opened = question.state.opened
    if opened is not None and opened.sealed.verifier:
        return None
    return "own answers need an open verifier, and the benchmark has none"


def _prompts_are_untainted(question: Question) -> str | None:
    return refusal_of_data(question.state, (question.action.dataset,))


def _explores(question: Question) -> str | None:
    """A verification repeats what is recorded, on the rows that are recorded."""
    node = question.state.graph.nodes.get(question.caller.node)
    created = node.created if node else None
    if isinstance(created, WorkerCreated) and created.purpose == "verify":
        return "a verification trains on the rows that are recorded and makes none"
    return None


ENTRY = Entry(Sample, _record, {Role.WORKER: _view}, reserve, _sample, _used, _evidence)
RULES = (
    Rule("active", Sample, standing.worker_is_active),
    Rule("clock", Sample, standing.wall_clock_is_left),
    Rule("purpose", Sample, _explores),
    Rule("kinds", Sample, _has_prompts_to_ask),
    Rule("lineage", Sample, standing.checkpoint_is_open),
    Rule("verifier", Sample, _verifier_is_there),
    Rule("taint", Sample, _prompts_are_untainted),
    Rule("submissions", Sample, capped),
    Rule("verification", Sample, standing.verification_stays_affordable(reserve)),
)
