"""Grade-school sums: what somebody has after gains and losses, told as a story.

The key is the signed numbers alone: names, things and verbs do not make another question.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from rsi_master.programs.nano.lexicon import GAINS, LOSSES, OWNERS, THINGS
from rsi_master.programs.nano.reading import last_number

_START: Final = re.compile(rf"({'|'.join(OWNERS)}) has ([0-9]{{1,3}}) ({'|'.join(THINGS)})")
_CHANGE: Final = re.compile(rf", ({'|'.join(GAINS + LOSSES)}) ([0-9]{{1,3}})")


@dataclass(frozen=True, slots=True)
class Sum:
    """A stock and its changes; each change is a verb and a positive number."""

    owner: str
    thing: str
    start: int
    changes: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """The story."""
        told = "".join(f", {verb} {number}" for verb, number in self.changes)
        return f"{self.owner} has {self.start} {self.thing}{told}"

    @property
    def signed(self) -> tuple[int, ...]:
        """The changes as numbers with their signs."""
        return tuple(number if verb in GAINS else -number for verb, number in self.changes)

    @property
    def key(self) -> str:
        """The numbers with their signs."""
        return f"{self.start}" + "".join(f"{number:+d}" for number in self.signed)

    @property
    def total(self) -> int:
        """What is left in the end."""
        return self.start + sum(self.signed)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the question that `text` tells, None where it tells none."""
        start = _START.match(text)
        if start is None:
            return None
        changes = tuple(
            (verb, int(number)) for verb, number in _CHANGE.findall(text[start.end() :])
        )
        found = cls(start[1], start[3], int(start[2]), changes)
        return found if changes and found.text == text else None

    def points(self, answer: str) -> float:
        """Return 1 for the right last number."""
        return float(last_number(answer) == str(self.total))
