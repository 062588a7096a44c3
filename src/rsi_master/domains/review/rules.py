"""What a report must withstand: its citations exist and lie in scope, its verdicts agree with the
paired comparison."""

from collections.abc import Sequence

from rsi_master.core.errors import Misuse
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.graph import Statement, WorkerCreated
from rsi_master.expos import evidence
from rsi_master.expos.catalogue import Desk, Question
from rsi_master.expos.lineage import selectable


def reviewer_is_switched_on(question: Question) -> str | None:
    """The contract may run without Reviewers."""
    return None if question.contract.research.reviewer else "the contract has no Reviewer"


def scope_is_finalised(question: Question) -> str | None:
    """Only finalised Workers are reviewed."""
    for name in question.action.scope:
        node = question.state.graph.nodes.get(name)
        if node is None or not isinstance(node.created, WorkerCreated):
            return f"{name} is no Worker of this run"
        if node.active():
            return f"{name} still works; request the review when it has finalised"
    return None


def review_is_open(question: Question) -> str | None:
    """One report for each review."""
    node = question.state.graph.nodes.get(question.caller.node)
    if node is not None and node.active():
        return None
    return f"review {question.caller.node} is unknown or has its report already"


def check_citations(desk: Desk, statements: Sequence[Statement]) -> None:
    """Every cited record exists and lies in scope."""
    for statement in statements:
        if not statement.records:
            raise Misuse("NO_CITATION", f"finding {statement.claim[:60]!r} cites no record")
        for name in statement.records:
            if name not in desk.state.datasets:
                in_scope(desk, name)


def check_against_evidence(desk: Desk, findings: Sequence[Statement]) -> None:
    """A verdict on "better than" must be what the comparison on confirm says."""
    for finding in findings:
        if finding.better is None and finding.than is None:
            continue
        if finding.better is None or finding.than is None:
            raise Misuse(
                "HALF_COMPARISON", f"finding {finding.claim[:60]!r} needs both `better` and `than`"
            )
        left, right = in_scope(desk, finding.than), in_scope(desk, finding.better)
        table = evidence.compare(desk.objects, left, right, "confirm")
        verdict = table.verdict()
        # Correction for many comparisons may turn a verdict into inconclusive, never the reverse.
        if finding.verdict not in (verdict, "inconclusive"):
            raise Misuse(
                "AGAINST_EVIDENCE",
                f"{finding.better} better than {finding.than} is {verdict} on confirm "
                f"(difference {table.difference:+.3f}, p {table.p:.3g}), not {finding.verdict}",
            )


def check_recommendation(desk: Desk, name: str) -> None:
    """Only a selectable experiment in scope can be recommended."""
    if not selectable(desk.state, in_scope(desk, name)):
        raise Misuse("NOT_SELECTABLE", f"{name} is not accepted, not scored, or tainted")


def in_scope(desk: Desk, name: str) -> Experiment:
    """The experiment, when this Reviewer may cite it; the base always."""
    known = desk.state.experiments.get(name)
    if known is None:
        raise Misuse("UNKNOWN_RECORD", f"no record {name!r}; cite experiments and datasets by id")
    scope = desk.state.graph.scope(desk.caller.node)
    if known.id != BASE and known.worker() not in scope:
        raise Misuse("OUT_OF_SCOPE", f"{name} belongs to {known.worker()}, outside this review")
    return known
