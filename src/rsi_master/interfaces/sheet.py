"""What is shown of one recorded thing: labelled lines for people, facts for programs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from rsi_master.core.model import Value
from rsi_master.core.score import SplitScore
from rsi_master.core.text import visible
from rsi_master.interfaces import words
from rsi_master.interfaces.lookup import Thing

Rows = list[tuple[str, str]]
Found = tuple[Rows, Mapping[str, object]]


@dataclass(frozen=True)
class Sheet:
    """A thing with its labelled lines and its facts."""

    thing: Thing
    rows: Rows
    facts: Mapping[str, object]

    def text(self) -> str:
        """Aligned lines; a text of several has its later ones under the first."""
        named = [(visible(label), text) for label, text in self.rows]
        width = max((len(label) for label, _ in named), default=0)
        lines = [
            f"{label:<{width}}  {words.block(text, width + 2) if text else ''}".rstrip()
            for label, text in named
        ]
        return "\n".join([f"{self.thing.kind} {visible(self.thing.id)}", *lines])

    def json(self) -> str:
        """One JSON object."""
        whole = {"kind": self.thing.kind, "id": self.thing.id, **self.facts}
        return json.dumps(whole, ensure_ascii=False)


def dump(value: Value | None) -> object:
    """A value as it stands in JSON."""
    return value.model_dump(mode="json") if value is not None else None


def scores(found: SplitScore, label: str = "") -> Rows:
    """The average of a split and each task under it."""
    rows = [(label or found.split, words.split(found))]
    return rows + [(f"  {task}", words.score(inner)) for task, inner in found.tasks.items()]
