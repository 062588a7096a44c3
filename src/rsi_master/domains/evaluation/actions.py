"""Actions on recorded evaluations: read verdicts, compare two experiments."""

from typing import Annotated, Literal

from pydantic import Field

from rsi_master.core.action import Action, Role
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.experiment import BASE, Experiment, ExperimentId
from rsi_master.core.model import Value
from rsi_master.core.score import ItemVerdict
from rsi_master.expos import evidence
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Question, Rule

OpenSplit = Literal["dev", "confirm"]


class Compare(Action):
    """Compare two experiments on the same items: paired difference, interval, p-value."""

    name = "evaluation.compare"
    effect = "read"

    left: ExperimentId
    right: ExperimentId
    split: OpenSplit = "confirm"


class Verdicts(Action):
    """Show per-item outputs, extracted answers and verdicts of an experiment; never the items."""

    name = "evaluation.verdicts"
    effect = "read"

    experiment: ExperimentId
    split: OpenSplit = "confirm"
    start: Annotated[int, Field(ge=0)] = 0
    count: Annotated[int, Field(ge=1, le=50)] = 20


class ComparisonView(Value):
    """Right minus left; `verdict` is on "right is better than left" at the 5 % level.
    `discordant` of the `n` items give the two different points. Items that hang together show less:
    all are worth `effective` ones that stand alone."""

    left: str
    right: str
    split: OpenSplit
    difference: float
    low: float
    high: float
    p: float
    n: int
    discordant: int
    effective: float
    tasks: dict[str, float]
    verdict: Literal["supported", "refuted", "inconclusive"]


class VerdictsView(Value):
    """A window of verdicts."""

    experiment: str
    split: OpenSplit
    total: int
    start: int
    verdicts: tuple[ItemVerdict, ...]


def _compare(action: Compare, desk: Desk) -> Outcome:
    left, right = _known(desk, action.left), _known(desk, action.right)
    return Outcome(evidence.compare(desk.objects, left, right, action.split))


def _verdicts(action: Verdicts, desk: Desk) -> Outcome:
    found = evidence.items(desk.objects, _known(desk, action.experiment), action.split)
    return Outcome(
        VerdictsView(
            experiment=action.experiment,
            split=action.split,
            total=len(found),
            start=action.start,
            verdicts=found[action.start : action.start + action.count],
        )
    )


def _known(desk: Desk, name: str) -> Experiment:
    known = desk.state.experiments.get(name)
    if known is None:
        raise Misuse("UNKNOWN_EXPERIMENT", f"no experiment {name!r} in this run")
    return known


def _comparison(record: evidence.Comparison, _contract: Contract) -> ComparisonView:
    return ComparisonView.model_validate({**record.model_dump(), "verdict": record.verdict()})


def _window(record: VerdictsView, _contract: Contract) -> VerdictsView:
    return record


def _in_scope(question: Question, names: tuple[str, ...]) -> str | None:
    if question.caller.role == Role.OPERATOR:
        return None
    scope = question.state.graph.scope(question.caller.node)
    for name in names:
        known = question.state.experiments.get(name)
        if known is not None and known.id != BASE and known.worker() not in scope:
            return f"{name} belongs to {known.worker()}, outside the scope of this review"
    return None


def _both_in_scope(question: Question) -> str | None:
    return _in_scope(question, (question.action.left, question.action.right))


def _one_in_scope(question: Question) -> str | None:
    return _in_scope(question, (question.action.experiment,))


DOMAIN = Domain(
    "evaluation",
    (
        Entry(Compare, _compare, {Role.REVIEWER: _comparison, Role.OPERATOR: _comparison}),
        Entry(Verdicts, _verdicts, {Role.REVIEWER: _window}),
    ),
    (Rule("scope", Compare, _both_in_scope), Rule("scope", Verdicts, _one_in_scope)),
)
