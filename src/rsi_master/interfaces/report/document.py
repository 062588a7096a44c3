"""What a report says, apart from how it is written: sections of blocks, blocks of lines, lines of
text and references. All text is taken as untrusted; whoever writes a document escapes it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from rsi_master.core.text import clean
from rsi_master.interfaces.report.element import Element

CUT = 400


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to an anchor of the same page."""

    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Cite:
    """The event that a statement rests on."""

    position: int


@dataclass(frozen=True, slots=True)
class Code:
    """An id or a command, letter by letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that must not be missed."""

    text: str


Inline: TypeAlias = str | Link | Cite | Code | Strong
Line: TypeAlias = tuple[Inline, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One line of text."""

    line: Line


@dataclass(frozen=True, slots=True)
class Listing:
    """Points of equal rank."""

    items: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines for a shell."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A text of many lines, letter by letter."""

    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; a reference may lead to its anchor."""

    cells: tuple[Line, ...]
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing; what it shows stands in a table too."""

    drawing: Element
    caption: str


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a title."""

    title: str
    anchor: str
    blocks: tuple["Block", ...]


Block: TypeAlias = Paragraph | Listing | Commands | Verbatim | Table | Figure | Section


@dataclass(frozen=True, slots=True)
class Document:
    """The whole report; `warning` is a heading and a sentence above everything else."""

    title: str
    lead: Line
    warning: tuple[str, str] | None
    sections: tuple[Section, ...]

    def cited(self) -> tuple[int, ...]:
        """The positions of all events that it cites, in order."""
        lines = (line for section in self.sections for line in _lines(section))
        found = {part.position for line in lines for part in line if isinstance(part, Cite)}
        return tuple(sorted(found))


def paragraph(*parts: Inline) -> Paragraph:
    """A paragraph of its parts."""
    return Paragraph(parts)


def joined(lines: Iterator[Line] | tuple[Line, ...], between: str = ", ") -> Line:
    """Lines in a row."""
    found: list[Inline] = []
    for line in lines:
        found += [between, *line] if found else line
    return tuple(found)


def cut(text: str, limit: int = CUT) -> str:
    """The text on one line, fit for a screen, with an ellipsis where it was longer."""
    short = clean(text, limit + 1)
    return short if len(short) <= limit else short[: limit - 1] + "…"


def _lines(block: Block) -> Iterator[Line]:
    if isinstance(block, Paragraph):
        yield block.line
    elif isinstance(block, Listing):
        yield from block.items
    elif isinstance(block, Table):
        for row in block.rows:
            yield from row.cells
    elif isinstance(block, Section):
        for inner in block.blocks:
            yield from _lines(inner)
