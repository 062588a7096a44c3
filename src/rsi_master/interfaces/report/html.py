"""A document as one HTML file: nothing is fetched, nothing runs, and a policy in its head says so
to the browser as well."""

from collections.abc import Iterator, Sequence
from functools import singledispatch
from itertools import chain
from typing import Final

from rsi_master.interfaces.report.document import (
    Block,
    Cite,
    Code,
    Commands,
    Document,
    Figure,
    Inline,
    Line,
    Link,
    Listing,
    Paragraph,
    Row,
    Section,
    Strong,
    Table,
    Verbatim,
)
from rsi_master.interfaces.report.element import Element, Node, element, text
from rsi_master.interfaces.report.refs import event_anchor
from rsi_master.interfaces.report.style import CSS

DEEPEST: Final = 4
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def html(document: Document) -> str:
    """The page."""
    page = (
        *_header(document),
        element("main", *(_section(section, 2) for section in document.sections)),
    )
    return "\n".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(document.title)}</title>",
            f"<style>{CSS}</style>\n</head>\n<body>",
            *map(str, page),
            "</body>\n</html>\n",
        )
    )


def _header(document: Document) -> Iterator[Element]:
    warning = document.warning
    if warning is not None:
        yield element(
            "div",
            element("h2", warning[0]),
            element("p", warning[1]),
            class_="warning",
            role="note",
        )
    yield element("header", element("h1", document.title), element("p", *_line(document.lead)))
    entries = (
        element("li", element("a", section.title, href=f"#{section.anchor}"))
        for section in document.sections
    )
    yield element("nav", element("ul", *entries))


def _section(section: Section, depth: int) -> Element:
    title = element(f"h{min(depth, DEEPEST)}", section.title)
    return element("section", title, *_blocks(section.blocks, depth + 1), id=section.anchor)


def _blocks(blocks: Sequence[Block], depth: int) -> Iterator[Node]:
    for block in blocks:
        yield _section(block, depth) if isinstance(block, Section) else _block(block)
        yield "\n"


@singledispatch
def _block(block: object) -> Element:
    raise TypeError(f"{type(block).__name__} is no block of a report")


@_block.register
def _(block: Paragraph) -> Element:
    return element("p", *_line(block.line))


@_block.register
def _(block: Listing) -> Element:
    return element("ul", *(element("li", *_line(item)) for item in block.items))


@_block.register
def _(block: Commands) -> Element:
    return element("pre", *chain.from_iterable((line, "\n") for line in block.lines))


@_block.register
def _(block: Verbatim) -> Element:
    return element("pre", block.text.expandtabs(), class_="text")


@_block.register
def _(block: Figure) -> Element:
    return element(
        "figure",
        element("div", block.drawing, class_="wide"),
        element("figcaption", block.caption),
    )


@_block.register
def _(block: Table) -> Element:
    head = element("tr", *(element("th", label, scope="col") for label in block.head))
    table = element(
        "table",
        element("caption", block.caption),
        element("thead", head),
        element("tbody", *map(_row, block.rows)),
    )
    return element("div", table, class_="wide")


def _row(row: Row) -> Element:
    first, *others = row.cells
    cells = (element("td", *_line(cell)) for cell in others)
    return element("tr", element("th", *_line(first), scope="row"), *cells, id=row.anchor)


def _line(line: Line) -> Iterator[Node]:
    return map(_inline, line)


def _inline(part: Inline) -> Node:
    if isinstance(part, Link):
        return element("a", part.text, href=f"#{part.anchor}")
    if isinstance(part, Cite):
        label = f"event {part.position}"
        return element("a", label, class_="event", href=f"#{event_anchor(part.position)}")
    if isinstance(part, Code):
        return element("code", part.text)
    return element("strong", part.text) if isinstance(part, Strong) else part
