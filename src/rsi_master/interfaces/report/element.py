"""HTML and SVG as typed elements. Text is escaped where it is written; tags and attributes are
closed sets without anything that runs or loads, and a reference stays within the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final, TypeAlias

from rsi_master.core.text import visible

# fmt: off
HTML: Final = frozenset({
    "a", "caption", "code", "div", "figcaption", "figure", "h1", "h2", "h3", "h4", "header", "li",
    "main", "nav", "p", "pre", "section", "strong", "table", "tbody", "td", "th", "thead", "tr",
    "ul",
})
SVG: Final = frozenset({"circle", "desc", "line", "path", "rect", "svg", "text", "title"})
ATTRIBUTES: Final = frozenset({
    "class", "cx", "cy", "d", "height", "href", "id", "r", "role", "rx", "scope", "text-anchor",
    "viewBox", "width", "x", "x1", "x2", "y", "y1", "y2",
})
# fmt: on
Node: TypeAlias = "Element | str"
Attribute: TypeAlias = str | float


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with its attributes in order and what stands in it."""

    tag: str
    attributes: tuple[tuple[str, Attribute], ...]
    children: tuple[Node, ...]

    def __str__(self) -> str:
        return "".join(self._pieces())

    def _pieces(self) -> Iterator[str]:
        named = "".join(f' {name}="{_value(value)}"' for name, value in self.attributes)
        yield f"<{self.tag}{named}>"
        for child in self.children:
            yield text(child) if isinstance(child, str) else str(child)
        yield f"</{self.tag}>"


def element(tag: str, *children: Node, **attributes: Attribute | None) -> Element:
    """An element; `class_` and `text_anchor` are written `class` and `text-anchor`, and None is
    left out. Raises ValueError for a tag, an attribute or a reference that is not allowed."""
    if tag not in HTML | SVG:
        raise ValueError(f"<{tag}> is no element of a report")
    named = {_name(key): value for key, value in attributes.items() if value is not None}
    for name, value in named.items():
        if name not in ATTRIBUTES:
            raise ValueError(f"{name} is no attribute of a report")
        if name == "href" and not str(value).startswith("#"):
            raise ValueError(f"{value!r} leads out of the page")
    return Element(tag, tuple(named.items()), children)


def text(words: str) -> str:
    """The words as text of HTML that is nothing else; of control characters line ends stay."""
    return escape("\n".join(map(visible, words.split("\n"))), quote=True)


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: Attribute) -> str:
    return text(value) if isinstance(value, str) else f"{round(value, 1):g}"
