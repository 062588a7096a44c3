"""The research graph as a drawing and as a table: who built on whom, who reviewed whom, how each
direction went, and the best path."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rsi_master.core.graph import Node, ReviewRequested, ReviewSubmitted, WorkerCreated
from rsi_master.core.score import Scored
from rsi_master.core.state import State
from rsi_master.expos.lineage import selectable
from rsi_master.interfaces import words
from rsi_master.interfaces.ending import ending
from rsi_master.interfaces.report import directions
from rsi_master.interfaces.report.directions import Fate
from rsi_master.interfaces.report.document import (
    Block,
    Figure,
    Line,
    Listing,
    Row,
    Section,
    Strong,
    Table,
    cut,
    paragraph,
)
from rsi_master.interfaces.report.element import Element, element
from rsi_master.interfaces.report.layout import Box, Layout, Measures, Point, Route, layered
from rsi_master.interfaces.report.refs import node_anchor
from rsi_master.interfaces.report.style import HUES
from rsi_master.interfaces.report.subject import Subject

SIZES: Final = Measures(width=240.0)
MARGIN: Final = 8.0
PAD: Final = 14.0
LINES: Final = (18.0, 36.0, 54.0)
CORNER: Final = 14.0
INSET: Final = 2.0
TIP: Final = 7.0
LABEL_CHARS: Final = 34
# Nodes times edges, on which the time of the layout depends: a few seconds at worst.
MOST_DRAWN: Final = 60_000
HEAD: Final = (
    "node",
    "kind",
    "direction",
    "what it is about",
    "builds on",
    "state",
    "experiments",
    "best on dev",
    "record",
)
READING: Final = (
    "From left to right in the order of dependence. A rectangle is a Worker, with a double outline "
    "one that verifies, with cut corners a Reviewer. A solid arrow says that a Worker builds on "
    "another, a dotted one that a Reviewer weighs it. Hue and number tell the direction. A dashed "
    "outline is a direction that Main closed, or a dead end: nobody builds on it. The thick line "
    "and the star mark the best path, which led to the champion, or to the best on dev so far. "
    "The score is the best that a Worker reached on dev."
)


@dataclass(frozen=True)
class Look:
    """How a node is drawn."""

    node: Node
    fate: Fate
    direction: int | None
    best: bool
    score: str


def graph(subject: Subject) -> Section:
    """The section."""
    state = subject.record.state
    title = "Research graph"
    if not state.graph.nodes:
        return Section(title, "graph", (paragraph("Main has opened no direction."),))
    looks = _looks(state)
    table = Table(
        "Every Worker and Reviewer in the order in which Main called them.",
        HEAD,
        tuple(_row(subject, look) for look in looks.values()),
    )
    return Section(title, "graph", (_figure(state), table, *_untried(subject)))


def _figure(state: State) -> Block:
    """The drawing, where it is not so large that nobody could read it."""
    if len(state.graph.nodes) * len(directions.arrows(state)) > MOST_DRAWN:
        return paragraph("The graph is too large to be drawn; the table has all of it.")
    return Figure(drawing(state), READING)


def drawing(state: State) -> Element:
    """The graph as SVG."""
    looks = _looks(state)
    plan = layered(list(looks), directions.arrows(state), SIZES)
    width, height = plan.width + 2 * MARGIN, plan.height + 2 * MARGIN
    return element(
        "svg",
        element("title", "Research graph"),
        element("desc", _spoken(plan)),
        *(part for route in plan.routes for part in _route(looks, route)),
        *(_box(looks[box.name], box) for box in plan.boxes),
        role="img",
        width=width,
        height=height,
        viewBox=f"{-MARGIN:g} {-MARGIN:g} {width:g} {height:g}",
    )


def _looks(state: State) -> dict[str, Look]:
    numbers, path = directions.numbered(state), directions.best_path(state)
    return {
        node.id: Look(
            node=node,
            fate=directions.fate(state, node),
            direction=numbers.get(node.id),
            best=node.id in path,
            score=_score(state, node),
        )
        for node in state.graph.nodes.values()
    }


def _score(state: State, node: Node) -> str:
    """The best score on dev of what was accepted."""
    able = (e.score("dev") for e in state.owned(node.id) if selectable(state, e))
    found = [(s.average.value, words.split(s)) for s in able if s and isinstance(s.average, Scored)]
    return cut(max(found)[1]) if found else ""


def _spoken(plan: Layout) -> str:
    told = (f"{route.source} to {route.target}" for route in plan.routes)
    return f"{words.count(len(plan.boxes), 'node')}; edges: {words.listed(told)}"


def _box(look: Look, box: Box) -> Element:
    created = look.node.created
    parts = [element("title", _about(look.node)), _outline(look)]
    if isinstance(created, WorkerCreated):
        parts.append(element("rect", class_="bar", x=0, y=0, width=6, height=SIZES.height))
        if created.purpose == "verify":
            size = {"width": SIZES.width - 14, "height": SIZES.height - 8}
            parts.append(element("rect", class_="inner", x=10, y=4, **size))
    styles = ("name", "", "small")
    for line, style, y in zip(_labels(look), styles, LINES, strict=True):
        parts.append(element("text", line, class_=style or None, x=PAD + 2, y=y))
    hue = "review" if look.direction is None else f"d{(look.direction - 1) % HUES}"
    placed = element(
        "svg", *parts, x=box.x, y=box.y, width=SIZES.width, height=SIZES.height, class_=hue
    )
    return element("a", placed, href=f"#{node_anchor(look.node.id)}")


def _outline(look: Look) -> Element:
    ended = " ended" if look.fate in ("closed", "dead end") else ""
    style = f"box{ended}{' best' if look.best else ''}"
    right, low, cut_off = SIZES.width - INSET, SIZES.height - INSET, CORNER
    if look.direction is not None:
        size = {"width": right - INSET, "height": low - INSET}
        return element("rect", class_=style, x=INSET, y=INSET, rx=4, **size)
    upper = f"M{cut_off:g} {INSET:g}H{right - cut_off:g}L{right:g} {cut_off:g}"
    lower = f"V{low - cut_off:g}L{right - cut_off:g} {low:g}H{cut_off:g}L{INSET:g}"
    return element("path", class_=style, d=f"{upper}{lower} {low - cut_off:g}V{cut_off:g}Z")


def _labels(look: Look) -> tuple[str, str, str]:
    """Three lines in a box; what is too long for it is cut off by its edge."""
    star = "\u2605 " if look.best else ""
    created = look.node.created
    if isinstance(created, ReviewRequested):
        scope = cut(f"of {words.listed(created.scope)}", LABEL_CHARS)
        return f"{star}{look.node.id} \u00b7 review", scope, look.fate
    verifies = ", verifies" if created.purpose == "verify" else ""
    head = f"{star}{look.node.id} \u00b7 direction {look.direction}{verifies}"
    dev = f", dev {look.score}" if look.score else ""
    return head, cut(created.direction, LABEL_CHARS), f"{look.fate}{dev}"


def _route(looks: dict[str, Look], route: Route) -> Iterator[Element]:
    review = isinstance(looks[route.target].node.created, ReviewRequested)
    way = looks[route.source].best and looks[route.target].best and not review
    style = "scope" if review else "way" if way else ""
    x, y = route.points[-1]
    yield element("path", class_=f"edge {style}".strip(), d=_curve(route.points))
    ends = f"M{x - TIP:g} {y - TIP / 2:g}L{x:g} {y:g}L{x - TIP:g} {y + TIP / 2:g}Z"
    yield element("path", class_=f"tip {style}".strip(), d=ends)


def _curve(points: tuple[Point, ...]) -> str:
    """Curves between layers that leave and arrive level, straight through a layer."""
    parts: list[str] = []
    for (x, y), (to_x, to_y) in zip(points[::2], points[1::2], strict=True):
        middle = (x + to_x) / 2
        start = f"{'L' if parts else 'M'}{x:g} {y:g}"
        parts.append(f"{start}C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}")
    return "".join(parts)


def _about(node: Node) -> str:
    created = node.created
    about = created.direction if isinstance(created, WorkerCreated) else created.question
    return f"{node.id}: {cut(about)}"


def _row(subject: Subject, look: Look) -> Row:
    node, refs = look.node, subject.refs
    created = node.created
    star = ", best path" if look.best else ""
    if isinstance(created, WorkerCreated):
        kind, about = f"Worker, to {created.purpose}", _direction(subject, look.node, created)
        after = refs.nodes(created.predecessors, "the base")
        record = refs.event(WorkerCreated, node.id)
    else:
        kind, about = "Reviewer", (cut(created.question),)
        after = refs.nodes(created.scope)
        record = (*refs.event(ReviewRequested, node.id), *_reported(subject, node))
    owned = subject.record.state.owned(node.id)
    number = str(look.direction) if look.direction is not None else ""
    cells: tuple[Line, ...] = (
        (node.id,),
        (kind,),
        (number,),
        about,
        after,
        (f"{look.fate}{star}",),
        refs.experiments((one.id for one in owned), ""),
        (look.score,),
        record,
    )
    return Row(cells, node_anchor(node.id))


def _direction(subject: Subject, node: Node, created: WorkerCreated) -> Line:
    told = [("", cut(created.direction)), ("Hypothesis: ", cut(created.hypothesis))]
    if created.recipe:
        told.append(("Way to train: ", cut(created.recipe)))
    if created.purpose == "verify":
        told.append(("Fresh seed: ", f"number {created.promotion + 1} of the contract"))
    if node.finalised:
        told.append(("Summary: ", cut(node.finalised.summary)))
    if node.closed:
        told.append(("Closed: ", cut(node.closed.reason)))
    return tuple(
        part
        for label, sentence in told
        for part in (
            *((Strong(label),) if label else ()),
            *subject.refs.told(f"{sentence.rstrip('.')}. "),
        )
    )


def _reported(subject: Subject, node: Node) -> Line:
    found = subject.refs.event(ReviewSubmitted, node.id)
    return (", reported ", *found) if found else ()


def _untried(subject: Subject) -> tuple[Block, ...]:
    """Sources of the contract that no experiment used, once the run is over."""
    record = subject.record
    if record.state.finished is None:
        return ()
    items = tuple((f"{cut(one.source)}: {cut(one.reason)}",) for one in ending(record).untried)
    return (paragraph("Not tried:"), Listing(items)) if items else ()
