"""Each review: what was asked, what was found, what it recommends, and what Main did with it."""

from collections.abc import Iterator

from rsi_master.core.graph import Node, ReviewRequested, ReviewSubmitted, Statement
from rsi_master.interfaces.report import moves
from rsi_master.interfaces.report.document import (
    Block,
    Line,
    Listing,
    Row,
    Section,
    Table,
    cut,
    joined,
    paragraph,
)
from rsi_master.interfaces.report.subject import Subject

CLAIM_CHARS = 2000


def reviews(subject: Subject) -> Section:
    """The section."""
    found = subject.record.state.graph.reviews()
    none = (paragraph("There was no review."),)
    inner = tuple(_review(subject, node) for node in found)
    return Section("Reviews", "reviews", inner or none)


def _review(subject: Subject, node: Node) -> Section:
    refs, created = subject.refs, node.created
    assert isinstance(created, ReviewRequested), "the graph tells Workers from reviews"
    asked = paragraph(
        "Question: ",
        *refs.told(cut(created.question, CLAIM_CHARS)),
        " Scope: ",
        *refs.nodes(created.scope),
        ". ",
        *refs.event(ReviewRequested, node.id),
    )
    if node.report is None:
        blocks: tuple[Block, ...] = (asked, paragraph("It has not reported yet."))
    else:
        blocks = (asked, *_report(subject, node.report), *_next(subject, node.id))
    return Section(f"Review {node.id}", f"review-{node.id}", blocks)


def _report(subject: Subject, report: ReviewSubmitted) -> Iterator[Block]:
    refs = subject.refs
    cite = refs.event(ReviewSubmitted, report.node)
    if report.findings:
        yield _statements(subject, "Findings.", report.findings)
    if report.violations:
        yield _statements(subject, "Possible violations of the rules.", report.violations)
    for label, lines in (
        ("What got worse", report.regressions),
        ("What the evidence does not show", report.missing),
    ):
        if lines:
            yield paragraph(f"{label}:")
            yield Listing(tuple(refs.told(cut(line, CLAIM_CHARS)) for line in lines))
    recommended = refs.experiments(report.recommend, "no experiment")
    advice = refs.told(cut(report.recommendation, CLAIM_CHARS))
    yield paragraph("It recommends ", *recommended, ": ", *advice, " ", *cite)


def _statements(subject: Subject, caption: str, found: tuple[Statement, ...]) -> Table:
    rows = tuple(
        Row(
            ((one.verdict,), subject.refs.told(cut(one.claim, CLAIM_CHARS)), _records(subject, one))
        )
        for one in found
    )
    return Table(caption, ("verdict", "claim", "records"), rows)


def _records(subject: Subject, found: Statement) -> Line:
    return joined(tuple((subject.refs.thing(name),) for name in found.records)) or ("none",)


def _next(subject: Subject, review: str) -> tuple[Block, ...]:
    found = moves.after(subject.record.events, review)
    if not found:
        return (paragraph("Main has made no move since."),)
    items = tuple(moves.told(move, subject.refs) for move in found)
    return (paragraph("What Main did next, before any other report:"), Listing(items))
