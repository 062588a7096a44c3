"""Contest chains: additions and multiplications modulo a prime, one after the other.

The prime makes each operation a bijection, so another number gives another result.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from rsi_master.programs.nano.reading import last_number

MODULUS: Final = 11

_TEXT: Final = re.compile(rf"(10|[1-9])((?: [+*][1-9])+) mod {MODULUS}")


@dataclass(frozen=True, slots=True)
class Chain:
    """A start and operations, each a sign `+` or `*` and a digit."""

    start: int
    operations: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """The start, the operations from left to right, and the modulus."""
        told = " ".join(f"{sign}{number}" for sign, number in self.operations)
        return f"{self.start} {told} mod {MODULUS}"

    @property
    def key(self) -> str:
        """The numbers alone: signs vanish in a text without punctuation."""
        return " ".join((str(self.start), *(str(number) for _, number in self.operations)))

    @property
    def values(self) -> tuple[int, ...]:
        """The start and the result of each operation."""
        found = [self.start]
        for sign, number in self.operations:
            found.append(apply(found[-1], sign, number))
        return tuple(found)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the question that `text` spells, None where it spells none."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return None
        return cls(int(found[1]), tuple((part[0], int(part[1])) for part in found[2].split()))

    def points(self, answer: str) -> float:
        """Return 1 for the right last number."""
        return float(last_number(answer) == str(self.values[-1]))


def apply(value: int, sign: str, number: int) -> int:
    """Return one operation on a residue."""
    return (value + number if sign == "+" else value * number) % MODULUS
