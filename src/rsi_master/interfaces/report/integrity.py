"""What may be said of the run's integrity: what was checked, what was denied and flagged, what
holds by construction, what is only detected, and what nothing covers."""

import re
from collections.abc import Iterator

from rsi_master.app.laws import MADE
from rsi_master.core.event import Event
from rsi_master.core.experiment import BASE, IntegritySet
from rsi_master.core.run import ActionDenied, OwnerStarted
from rsi_master.expos.books import CHECKS
from rsi_master.expos.lineage import taint
from rsi_master.expos.verify import Report
from rsi_master.interfaces import words
from rsi_master.interfaces.report.coverage import DETECTED, HELD, UNCOVERED
from rsi_master.interfaces.report.document import (
    Block,
    Cite,
    Code,
    Line,
    Listing,
    Row,
    Section,
    Strong,
    Table,
    cut,
    joined,
    paragraph,
)
from rsi_master.interfaces.report.outcome import NOT_ISOLATED
from rsi_master.interfaces.report.subject import Subject

CITED = 5
MOST_FLAWS = 50
MOST_DENIALS = 50
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\u0370-\u03ff])")
UNCHECKED = "LAWS_UNCHECKED"


def integrity(subject: Subject) -> Section:
    """The section."""
    blocks = (
        *_tier(subject),
        *_verified(subject),
        *_denied(subject),
        *_flagged(subject),
        *_language(subject),
    )
    return Section("Integrity", "integrity", blocks)


def _tier(subject: Subject) -> Iterator[Block]:
    tier = subject.status.tier
    owners = [e for e in subject.record.events if isinstance(e.fact, OwnerStarted)]
    cites = joined(tuple((Cite(event.position),) for event in owners[:CITED]))
    if tier is None:
        yield paragraph("No owner has worked on the run yet.")
    elif tier == "none":
        head, sentence = NOT_ISOLATED
        yield paragraph(Strong(head), ": ", sentence, " ", *cites)
    else:
        yield paragraph(f"Jobs were confined; the weakest isolation was {tier!r}. ", *cites)


def _verified(subject: Subject) -> Iterator[Block]:
    checked = subject.verification
    if checked.report is None:
        why = cut(checked.omitted)
        yield paragraph(
            f"The record was not verified for this report ({why}). To do so: ",
            Code('rsi verify "$RUN"'),
        )
        return
    report = checked.report
    if report.sound:
        yield paragraph("The record was verified while this report was written, and is whole.")
    else:
        yield paragraph(Strong("The record does not hold."), " What was found:")
        yield _flaws(report)
    unsigned = report.events - report.signed
    tail = f"; {words.count(unsigned, 'event')} after the last signed head" if unsigned else ""
    rows = (
        ("events", f"{report.events:,}, of which {report.signed:,} are signed{tail}"),
        ("artifacts", f"{report.artifacts:,}, each against its digest"),
        ("signed by", checked.key),
        ("vouched for by", report.anchor),
        ("root, one digest over all events", report.root),
    )
    table = tuple(Row(((label,), (cut(found),))) for label, found in rows)
    yield Table("What was checked.", ("what", "how much"), table)
    yield from _laws(report)


def _laws(report: Report) -> Iterator[Block]:
    """What the events were held to, as the laws say it of themselves."""
    if any(flaw.code == UNCHECKED for flaw in report.flaws):
        yield paragraph("The laws of records were not checked, since events are damaged.")
        return
    told = [(law.__name__.replace("_", " "), law.__doc__ or "") for law in (*CHECKS, *MADE)]
    yield Table(
        "The laws of records, each checked over all events; one that is broken stands among the "
        "findings. An intent is an action that was allowed and is not done yet, a fence the number "
        "of an attempt, \u03b8_in the checkpoint that a training starts from.",
        ("law", "what it says"),
        tuple(Row(((label,), (cut(first_sentence(says)),))) for label, says in told),
    )


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    return SENTENCE.split(" ".join(text.split()), maxsplit=1)[0]


def _flaws(report: Report) -> Table:
    shown = report.flaws[:MOST_FLAWS]
    rows = tuple(Row(((one.code,), (cut(one.where),), (cut(one.what),))) for one in shown)
    caption = f"The first {len(shown)} of {words.count(len(report.flaws), 'finding')}."
    return Table(caption, ("code", "where", "what"), rows)


def _denied(subject: Subject) -> Iterator[Block]:
    groups: dict[tuple[str, str, str, str], list[Event]] = {}
    for event in subject.record.events:
        if isinstance(event.fact, ActionDenied):
            fact = event.fact
            key = (event.caller.role.value, fact.action, fact.decision, fact.rule)
            groups.setdefault(key, []).append(event)
    total = sum(map(len, groups.values()))
    if not groups:
        yield paragraph("No action was denied.")
        return
    shown = sorted(groups.items(), key=lambda group: -len(group[1]))[:MOST_DENIALS]
    yield Table(
        f"{words.count(total, 'action')} denied. A denied action was attempted and blocked; by "
        "itself it is no violation.",
        ("role", "action", "decision", "rule", "times", "records", "first reason"),
        tuple(_denial(key, events) for key, events in shown),
    )


def _denial(key: tuple[str, str, str, str], events: list[Event]) -> Row:
    first = events[0].fact
    reason = first.reason if isinstance(first, ActionDenied) else ""
    cites: Line = joined(tuple((Cite(event.position),) for event in events[:CITED]))
    more: Line = (f" and {len(events) - CITED} more",) if len(events) > CITED else ()
    labels: tuple[Line, ...] = tuple((cut(part),) for part in key)
    return Row((*labels, (str(len(events)),), (*cites, *more), (cut(reason),)))


def _flagged(subject: Subject) -> Iterator[Block]:
    state, refs = subject.record.state, subject.refs
    flagged = [e for e in state.experiments.values() if e.integrity == "flagged"]
    tainted = [
        e
        for e in state.experiments.values()
        if e.id != BASE and e.integrity != "flagged" and taint(state, e.id)
    ]
    if not flagged:
        yield paragraph("No experiment is flagged.")
        return
    yield paragraph(f"{words.count(len(flagged), 'experiment')} flagged, and never selected:")
    yield Listing(
        tuple(
            (refs.experiment(e.id), f": {cut(e.flag)} ", *refs.event(IntegritySet, e.id))
            for e in flagged
        )
    )
    if tainted:
        names = refs.experiments(e.id for e in tainted)
        why = "Tainted, since they continue a flagged one, repeat it or learnt from its answers: "
        yield paragraph(why, *names, ".")


def _language(subject: Subject) -> Iterator[Block]:
    """What the words of a claim mean; nothing is claimed where nothing was confined."""
    if subject.status.tier in (None, "none"):
        yield paragraph("What would hold under isolation is left out: nothing is claimed here.")
    else:
        yield paragraph("Not possible by construction:")
        yield Listing(tuple((line,) for line in HELD))
        yield paragraph("Not prevented, but detected:")
        yield Listing(tuple((line,) for line in DETECTED))
    yield Table(
        "Not covered: who wants to rely on the result must judge these otherwise. The attempts are "
        "named as in docs/threat-model.md of RSI-Master, which says more.",
        ("attempt or part", "what is not covered"),
        tuple(Row(((gap.under,), (gap.told,))) for gap in UNCOVERED),
    )
