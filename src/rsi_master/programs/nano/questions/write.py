"""Constrained writing: a list of words of one theme with a length, a first, a last, one left out.

Any list that keeps to all constraints is right.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from rsi_master.programs.nano.lexicon import THEMES
from rsi_master.programs.nano.reading import words_of

_TEXT: Final = re.compile(
    rf"list ([1-9]) ({'|'.join(THEMES)}), first ([a-z]+), last ([a-z]+), no ([a-z]+)"
)
_WORD: Final = re.compile("[a-z]+")


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be written."""

    count: int
    theme: str
    first: str
    last: str
    without: str

    @property
    def text(self) -> str:
        """The constraints in words."""
        ends = f"first {self.first}, last {self.last}"
        return f"list {self.count} {self.theme}, {ends}, no {self.without}"

    @property
    def key(self) -> str:
        """The words that are named; the length does not make another question."""
        return f"{self.first} {self.last} {self.without}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the question that `text` asks, None where it asks none."""
        found = _TEXT.fullmatch(text)
        if found is None or not set(found.groups()[2:]) <= set(THEMES[found[2]]):
            return None
        return cls(int(found[1]), found[2], found[3], found[4], found[5])

    def points(self, answer: str) -> float:
        """Return 1 where all constraints hold, 0 for what is no list."""
        words = list_of(answer)
        return float(
            len(words) == len(set(words)) == self.count
            and set(words) <= set(THEMES[self.theme])
            and (words[0], words[-1]) == (self.first, self.last)
            and self.without not in words
        )


def list_of(answer: str) -> tuple[str, ...]:
    """Return the words of an answer, none where one of them is not spelled with letters alone."""
    words = words_of(answer)
    return words if all(_WORD.fullmatch(word) for word in words) else ()
