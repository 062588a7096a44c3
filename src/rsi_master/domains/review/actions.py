"""Actions of reviews: Main orders one, a Reviewer weighs the evidence in scope and reports."""

from typing import Annotated, Literal

from pydantic import Field

from rsi_master.core.action import Action, Line, NodeId, Role, Text
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.graph import Node, ReviewRequested, ReviewSubmitted, Statement
from rsi_master.core.model import Value
from rsi_master.domains.review import rules
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Rule

Statements = Annotated[tuple[Statement, ...], Field(max_length=50)]
Recommended = Annotated[tuple[Annotated[str, Field(max_length=40)], ...], Field(max_length=4)]
Lines = Annotated[tuple[Line, ...], Field(max_length=50)]


class Request(Action):
    """Order a review of finalised Workers: one, some or all, with a question."""

    name = "review.request"
    effect = "record"

    question: Text
    scope: Annotated[tuple[NodeId, ...], Field(min_length=1, max_length=100)]


class Current(Action):
    """Show the own review: the question and the experiments in scope."""

    name = "review.current"
    effect = "read"


class Submit(Action):
    """Report: what holds, what is open, what may break the rules, what got worse, which comparison
    is lacking, what to do next. A finding cites records; one that names `better` and `than` is
    checked against the paired comparison on confirm. `recommend` names the experiments to train
    again: one that leads, those that are not told apart, or none."""

    name = "review.submit"
    effect = "record"

    findings: Annotated[tuple[Statement, ...], Field(min_length=1, max_length=50)]
    violations: Statements = ()
    regressions: Lines = ()
    missing: Lines = ()
    recommend: Recommended = ()
    recommendation: Text


class Read(Action):
    """Read a Reviewer's report."""

    name = "review.read"
    effect = "read"

    node: NodeId


class RequestedView(Value):
    """The Reviewer node that was created."""

    node: NodeId


class ScopeView(Value):
    """What a Reviewer works on."""

    node: NodeId
    question: str
    scope: tuple[NodeId, ...]
    experiments: tuple[str, ...]
    claimed_best: dict[str, str | None]
    summaries: dict[str, str]


class ReportView(Value):
    """A report; items and references are never in it."""

    node: NodeId
    status: Literal["active", "reported"]
    question: str
    scope: tuple[NodeId, ...]
    findings: tuple[Statement, ...] = ()
    violations: tuple[Statement, ...] = ()
    regressions: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    recommend: tuple[str, ...] = ()
    recommendation: str = ""


class SubmittedView(Value):
    """The report is recorded as evidence of the experiments in scope."""

    node: NodeId
    findings: int


def _request(action: Request, desk: Desk) -> Outcome:
    number = len(desk.state.graph.reviews()) + 1
    fact = ReviewRequested(
        node=f"r{number}", question=action.question, scope=tuple(dict.fromkeys(action.scope))
    )
    return Outcome(fact, (fact,))


def _current(_action: Current, desk: Desk) -> Outcome:
    state = desk.state
    node = _review(desk, desk.caller.node)
    scope = state.graph.scope(node.id)
    finalised = {name: state.graph.nodes[name].finalised for name in scope}
    created = node.created
    assert isinstance(created, ReviewRequested), "the policy admits Reviewers only"
    return Outcome(
        ScopeView(
            node=node.id,
            question=created.question,
            scope=scope,
            experiments=tuple(e.id for name in scope for e in state.owned(name)),
            claimed_best={name: f.best if f else None for name, f in finalised.items()},
            summaries={name: f.summary if f else "" for name, f in finalised.items()},
        )
    )


def _submit(action: Submit, desk: Desk) -> Outcome:
    statements = (*action.findings, *action.violations)
    rules.check_against_evidence(desk, statements)
    rules.check_citations(desk, statements)
    recommend = tuple(dict.fromkeys(action.recommend))
    for name in recommend:
        rules.check_recommendation(desk, name)
    fact = ReviewSubmitted(
        node=desk.caller.node,
        findings=action.findings,
        violations=action.violations,
        regressions=action.regressions,
        missing=action.missing,
        recommend=recommend,
        recommendation=action.recommendation,
        by=desk.caller.node,
    )
    return Outcome(fact, (fact,))


def _read(action: Read, desk: Desk) -> Outcome:
    return Outcome(_review(desk, action.node))


def _review(desk: Desk, name: str) -> Node:
    node = desk.state.graph.nodes.get(name)
    if node is None or not isinstance(node.created, ReviewRequested):
        raise Misuse("UNKNOWN_REVIEW", f"no review {name!r} in this run")
    return node


def _requested(record: ReviewRequested, _contract: Contract) -> RequestedView:
    return RequestedView(node=record.node)


def _scope_view(record: ScopeView, _contract: Contract) -> ScopeView:
    return record


def _submitted(record: ReviewSubmitted, _contract: Contract) -> SubmittedView:
    return SubmittedView(node=record.node, findings=len(record.findings))


def _report(record: Node, _contract: Contract) -> ReportView:
    created, report = record.created, record.report
    assert isinstance(created, ReviewRequested), "checked when it was looked up"
    if report is None:
        return ReportView(
            node=record.id, status="active", question=created.question, scope=created.scope
        )
    return ReportView(
        node=record.id,
        status="reported",
        question=created.question,
        scope=created.scope,
        findings=report.findings,
        violations=report.violations,
        regressions=report.regressions,
        missing=report.missing,
        recommend=report.recommend,
        recommendation=report.recommendation,
    )


DOMAIN = Domain(
    "review",
    (
        Entry(Request, _request, {Role.MAIN: _requested}),
        Entry(Current, _current, {Role.REVIEWER: _scope_view}),
        Entry(Submit, _submit, {Role.REVIEWER: _submitted}),
        Entry(Read, _read, {Role.MAIN: _report, Role.OPERATOR: _report}),
    ),
    (
        Rule("switch", Request, rules.reviewer_is_switched_on),
        Rule("scope", Request, rules.scope_is_finalised),
        Rule("active", Submit, rules.review_is_open),
    ),
)
