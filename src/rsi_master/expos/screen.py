"""Outgoing text is screened: words that roles write reach other roles, so none may carry a sealed
item. Since each answer tells whether a text is one, a node that was caught HITS times writes none.
"""

import re
from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from rsi_master.core.action import Action
from rsi_master.core.artifact import Row
from rsi_master.core.ports import Sealed
from rsi_master.core.sealed import ScanReport

SHORTEST = 6
HITS = 3
SEALED = ("SEALED_PROMPT", "SEALED_ANSWER")
ID = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Screen:
    """Asks the sealed process whether any text of an action repeats a sealed item."""

    def __init__(self, sealed: Sealed) -> None:
        self._sealed = sealed

    def holds(self, value: object) -> bool:
        """Whether a text within the value, or all of them read in a row, holds a sealed item."""
        said = texts(value)
        if not said:
            return False
        more = value.says() if isinstance(value, Action) else ()
        rows = [Row(prompt=text, completion="-") for text in (*said, "\n".join(said), *more)]
        return repeats(self._sealed.scan(rows))


def repeats(report: ScanReport) -> bool:
    """Whether a scan found a row that repeats a sealed item."""
    return any(report.dropped.get(reason, 0) for reason in SEALED)


def texts(value: object) -> tuple[str, ...]:
    """The texts within the value; none when all are ids or too short to be an item."""
    found = tuple(text for text in _texts(value) if len(text) >= SHORTEST)
    return () if all(ID.fullmatch(text) for text in found) else found


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _texts(inner)
