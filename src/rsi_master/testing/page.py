"""A page read back as a browser would: its elements, what carries an id, where references lead."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "br"})


@dataclass
class Tag:
    """An element with its attributes and everything in it."""

    name: str
    attributes: dict[str, str]
    children: list["Tag | str"] = field(default_factory=list)

    def text(self) -> str:
        """All text in it, blanks run together."""
        parts = (child if isinstance(child, str) else child.text() for child in self.children)
        return " ".join(" ".join(parts).split())

    def all(self, name: str | None = None) -> list["Tag"]:
        """Every element in it of that name, or every one, in order."""
        found = []
        for child in self.children:
            if isinstance(child, Tag):
                found += [child] if name in (None, child.name) else []
                found += child.all(name)
        return found


class Page(HTMLParser):
    """A parsed page; an end tag that does not fit raises AssertionError."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.root = Tag("", {})
        self._open = [self.root]
        self.feed(html)
        self.close()
        assert self._open == [self.root], f"<{self._open[-1].name}> is left open"

    def ids(self) -> list[str]:
        """Every id."""
        return [tag.attributes["id"] for tag in self.root.all() if "id" in tag.attributes]

    def references(self) -> set[str]:
        """Every address that the page names."""
        named = ("href", "src", "action", "data", "xlink:href")
        return {
            value
            for tag in self.root.all()
            for key, value in tag.attributes.items()
            if key in named
        }

    def by_id(self, name: str) -> Tag:
        """The element of an id."""
        return next(tag for tag in self.root.all() if tag.attributes.get("id") == name)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Tag(tag, {key: value or "" for key, value in attrs})
        self._open[-1].children.append(found)
        if tag not in VOID:
            self._open.append(found)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().name == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)
