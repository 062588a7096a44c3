"""Function calls: two signatures in the prompt, one request whose arguments come in any order.

The key is what is called with which arguments: the same call under another signature, order or
neighbour lies in the same split.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from rsi_master.programs.nano.lexicon import FUNCTIONS, NUMBERED, WORDED

_PARAMETER: Final = f"(?:{'|'.join((*NUMBERED, *WORDED))})"
_SIGNATURE: Final = re.compile(rf"({'|'.join(FUNCTIONS)})\(({_PARAMETER}(?:,{_PARAMETER})*)\)")
_VALUES: Final = {
    **dict.fromkeys(NUMBERED, "[1-9][0-9]?"),
    **{parameter: "|".join(words) for parameter, words in WORDED.items()},
}
CALL: Final = re.compile(r"([a-z]+) *\((.*)\)")
"""The form of an answer: the name, and what stands between the brackets."""
_ARGUMENT: Final = re.compile("|".join(f"{name} (?:{fit})" for name, fit in _VALUES.items()))


@dataclass(frozen=True, slots=True)
class Signature:
    """A function and its parameters in order."""

    name: str
    parameters: tuple[str, ...]

    @property
    def text(self) -> str:
        """The signature as code."""
        return f"{self.name}({','.join(self.parameters)})"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the signature that `text` spells, None where it spells none."""
        found = _SIGNATURE.fullmatch(text)
        return cls(found[1], tuple(found[2].split(","))) if found else None


@dataclass(frozen=True, slots=True)
class Call:
    """The signatures offered, the name that is asked for, and the arguments as they are told."""

    offered: tuple[Signature, ...]
    name: str
    arguments: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """Signatures, then the request."""
        offered = " ".join(signature.text for signature in self.offered)
        told = ", ".join(f"{parameter} {value}" for parameter, value in self.arguments)
        return f"{offered}: {self.name} {told}"

    @property
    def key(self) -> str:
        """The name and the arguments, sorted."""
        return " ".join((self.name, *sorted(f"{p}={v}" for p, v in self.arguments)))

    @property
    def signature(self) -> Signature:
        """The signature of the function that is asked for."""
        return next(one for one in self.offered if one.name == self.name)

    @property
    def call(self) -> str:
        """The right call: the values in the order of the signature."""
        values = dict(self.arguments)
        return f"{self.name}({','.join(values[p] for p in self.signature.parameters)})"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the question that `text` spells, None where it spells none."""
        head, _, request = text.partition(": ")
        name, _, told = request.partition(" ")
        offered = [Signature.read(part) for part in head.split(" ")]
        arguments = told.split(", ")
        if None in offered or not all(_ARGUMENT.fullmatch(part) for part in arguments):
            return None
        pairs = (part.split(" ") for part in arguments)
        found = cls(
            tuple(one for one in offered if one),
            name,
            tuple((parameter, value) for parameter, value in pairs),
        )
        return found if found._is_whole() else None

    def points(self, answer: str) -> float:
        """Return 1 for the right call; spaces beside brackets and commas do not matter."""
        found = CALL.fullmatch(answer)
        if found is None:
            return 0.0
        values = ",".join(value.strip() for value in found[2].split(","))
        return float(f"{found[1]}({values})" == self.call)

    def _is_whole(self) -> bool:
        """Tell whether one offered signature takes exactly the told arguments."""
        told = sorted(parameter for parameter, _ in self.arguments)
        fitting = [one for one in self.offered if one.name == self.name]
        return len(fitting) == 1 and sorted(fitting[0].parameters) == told
