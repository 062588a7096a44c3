"""A whole report from its sections, and its files."""

from collections.abc import Iterator
from pathlib import Path

from rsi_master.core.event import Event
from rsi_master.interfaces import files
from rsi_master.interfaces.report.asked import asked
from rsi_master.interfaces.report.budget import budget
from rsi_master.interfaces.report.curve import curve
from rsi_master.interfaces.report.document import (
    Document,
    Inline,
    Row,
    Section,
    Table,
    cut,
    paragraph,
)
from rsi_master.interfaces.report.experiments import experiments
from rsi_master.interfaces.report.glossary import glossary
from rsi_master.interfaces.report.graph import graph
from rsi_master.interfaces.report.html import html
from rsi_master.interfaces.report.integrity import integrity
from rsi_master.interfaces.report.lead import lead, utc
from rsi_master.interfaces.report.lineage import lineage
from rsi_master.interfaces.report.markdown import markdown
from rsi_master.interfaces.report.outcome import NOT_ISOLATED, outcome, verdict
from rsi_master.interfaces.report.programs import programs
from rsi_master.interfaces.report.refs import event_anchor
from rsi_master.interfaces.report.reproduce import reproduce
from rsi_master.interfaces.report.reviews import reviews
from rsi_master.interfaces.report.subject import Subject
from rsi_master.interfaces.stored import by

SECTIONS = (
    asked,
    outcome,
    verdict,
    graph,
    curve,
    experiments,
    reviews,
    lineage,
    programs,
    budget,
    integrity,
    reproduce,
    glossary,
)


def compose(subject: Subject) -> Document:
    """The report of a run."""
    written = (section(subject) for section in SECTIONS)
    sections = tuple(section for section in written if section is not None)
    name = cut(subject.status.run)
    warning = NOT_ISOLATED if subject.status.tier == "none" else None
    body = Document(f"Report on {name}", lead(subject), warning, sections)
    events = _events(subject.record.events, body.cited())
    return Document(body.title, body.lead, body.warning, (*sections, events))


def write(subject: Subject, folder: Path, with_markdown: bool) -> tuple[Path, ...]:
    """Write the page, and its twin if wanted, into a folder, over those of before; the files."""
    document, name = compose(subject), subject.record.folder.path.name
    texts = {f"{name}.html": html(document)}
    if with_markdown:
        texts[f"{name}.md"] = markdown(document)
    files.write(folder, texts)
    return tuple(folder / file for file in texts)


def _events(events: tuple[Event, ...], cited: tuple[int, ...]) -> Section:
    """The events that the report cites, so that every reference leads to a record."""
    if not cited:
        return Section("Cited events", "events", (paragraph("It cites none."),))
    table = Table(
        "In full, as it was signed: rsi show @N with the number of the event.",
        ("event", "when", "what", "by", "id"),
        tuple(Row(tuple(_event(events[at])), event_anchor(at)) for at in cited),
    )
    return Section("Cited events", "events", (table,))


def _event(event: Event) -> Iterator[tuple[Inline, ...]]:
    yield (f"event {event.position}",)
    yield (utc(event.at),)
    yield (event.fact.type,)
    yield (cut(by(event)),)
    yield (cut(event.id),)
