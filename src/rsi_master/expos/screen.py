"""Outgoing text is screened: words that roles write reach other roles, so none may carry a sealed
item."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from rsi_master.core.action import Action
from rsi_master.core.artifact import Row
from rsi_master.core.errors import PolicyDenied
from rsi_master.core.ports import Sealed

SHORTEST = 6
SEALED = ("SEALED_PROMPT", "SEALED_ANSWER")


class Screen:
    """Asks the sealed process whether any text of an action repeats a sealed item."""

    def __init__(self, sealed: Sealed) -> None:
        self._sealed = sealed

    def check(self, action: Action) -> None:
        """Raise PolicyDenied when some text field holds a sealed item."""
        if self.holds(action):
            raise PolicyDenied(
                "SEALED_TEXT", f"{action.name}: the text repeats a sealed item; say it otherwise"
            )

    def holds(self, value: object) -> bool:
        """Whether a text within the value, or all of them read in a row, holds a sealed item."""
        texts = [text for text in _texts(value) if len(text) >= SHORTEST]
        if not texts:
            return False
        rows = [Row(prompt=text, completion="-") for text in (*texts, "\n".join(texts))]
        dropped = self._sealed.scan(rows).dropped
        return any(dropped.get(reason, 0) for reason in SEALED)


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
