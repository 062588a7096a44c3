"""A document as Markdown. Drawings are left out, since each has its table. Text is escaped letter
by letter: it makes no markup, no HTML and no address."""

import re
from collections.abc import Iterator
from functools import singledispatch
from typing import Final

from rsi_master.core.text import clean, visible
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
from rsi_master.interfaces.report.refs import event_anchor

_MARKUP: Final = re.compile(r"[\\`*_\[\]|~$]|(?<=:)//|(?<=[wW]{3})\.|^(?:[-=+#]|\d+[.)](?=\s|$))")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def markdown(document: Document) -> str:
    """The text of the page's twin."""
    lines = [f"# {escaped(document.title)}", "", _line(document.lead), ""]
    if document.warning is not None:
        head, sentence = document.warning
        lines = [f"## {escaped(head)}", "", escaped(sentence), "", *lines]
    for section in document.sections:
        lines += _section(section, 2)
    return "\n".join(lines).rstrip("\n") + "\n"


def escaped(text: str) -> str:
    """The text so that Markdown shows it letter by letter, on one line."""
    entities = "".join(_ENTITIES.get(letter, letter) for letter in visible(text))
    return _MARKUP.sub(_backslashed, entities)


def _backslashed(found: re.Match[str]) -> str:
    whole = found[0]
    return whole[:-1] + "\\" + whole[-1] if len(whole) > 1 and whole[0].isdigit() else "\\" + whole


def _section(section: Section, depth: int) -> Iterator[str]:
    yield f"{'#' * depth} {_anchor(section.anchor)}{escaped(section.title)}"
    yield ""
    for block in section.blocks:
        yield from _section(block, depth + 1) if isinstance(block, Section) else _block(block)


@singledispatch
def _block(block: Block) -> Iterator[str]:
    raise TypeError(f"{type(block).__name__} is no block of a report")


@_block.register
def _(block: Paragraph) -> Iterator[str]:
    yield from (_line(block.line), "")


@_block.register
def _(block: Listing) -> Iterator[str]:
    yield from (f"- {_line(item)}" for item in block.items)
    yield ""


@_block.register
def _(block: Commands) -> Iterator[str]:
    yield from (f"    {clean(line)}" for line in block.lines)
    yield ""


@_block.register
def _(block: Verbatim) -> Iterator[str]:
    yield from (f"    {visible(line)}" for line in block.text.expandtabs().split("\n"))
    yield ""


@_block.register
def _(block: Figure) -> Iterator[str]:
    """The table beside it says the same."""
    yield from ()


@_block.register
def _(block: Table) -> Iterator[str]:
    yield from (escaped(block.caption), "")
    yield f"| {' | '.join(map(escaped, block.head))} |"
    yield "|---" * len(block.head) + "|"
    yield from (_row(row) for row in block.rows)
    yield ""


def _row(row: Row) -> str:
    first, *others = map(_line, row.cells)
    anchor = _anchor(row.anchor) if row.anchor is not None else ""
    return f"| {' | '.join((anchor + first, *others))} |"


def _line(line: Line) -> str:
    return "".join(map(_inline, line))


def _inline(part: Inline) -> str:
    if isinstance(part, Link):
        return f"[{escaped(part.text)}](#{part.anchor})"
    if isinstance(part, Cite):
        return f"[event {part.position}](#{event_anchor(part.position)})"
    if isinstance(part, Strong):
        return _strong(part.text)
    return escaped(part.text) if isinstance(part, Code) else escaped(part)


def _strong(text: str) -> str:
    """Bold words; a blank at an end stands outside, since no reader takes it within."""
    inner = text.strip()
    if not inner:
        return escaped(text)
    before, _, after = text.partition(inner)
    return f"{escaped(before)}**{escaped(inner)}**{escaped(after)}"


def _anchor(name: str) -> str:
    return f'<a id="{name}"></a>'
