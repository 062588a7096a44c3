"""Code: operations in words, applied to x from left to right, to be written as one expression.

The key is the sequence of operations without their numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

from rsi_master.programs.nano.minilang import EvaluationError, ExpressionError, evaluate, parse

OPEN_INPUTS: Final = (-7, -1, 0, 1, 2, 3, 10, 41)
DIGITS: Final = range(2, 10)
LENGTH: Final = 3
"""Operations of a program."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation in words and as a template over the expression it is applied to."""

    words: str
    template: str

    @property
    def is_call(self) -> bool:
        """Tell whether the result is a call, which needs no brackets on either side."""
        return "(" in self.template

    def apply(self, expression: str, inner: "Operation | None" = None) -> str:
        """Return this operation on `expression`, which `inner` made, with the brackets it needs."""
        bare = inner is None or inner.is_call or self.is_call
        return self.template.format(expression if bare else f"({expression})")


def _operations() -> tuple[Operation, ...]:
    plain = (
        Operation("double", "{0}*2"),
        Operation("negate", "-{0}"),
        Operation("abs", "abs({0})"),
    )
    forms = (
        ("add", "{{0}}+{digit}"),
        ("sub", "{{0}}-{digit}"),
        ("from", "{digit}-{{0}}"),
        ("times", "{{0}}*{digit}"),
        ("div", "{{0}}//{digit}"),
        ("mod", "{{0}}%{digit}"),
        ("most", "min({{0}},{digit})"),
        ("least", "max({{0}},{digit})"),
    )
    numbered = (
        Operation(f"{words} {digit}", template.format(digit=digit))
        for words, template in forms
        for digit in DIGITS
    )
    return (*plain, *numbered)


OPERATIONS: Final = _operations()
_BY_WORDS: Final = {operation.words: operation for operation in OPERATIONS}
_HEAD: Final = "x, "


@dataclass(frozen=True, slots=True)
class Program:
    """The operations in their order."""

    operations: tuple[Operation, ...]

    @property
    def text(self) -> str:
        """The operations in words."""
        return _HEAD + ", ".join(operation.words for operation in self.operations)

    @property
    def key(self) -> str:
        """The words alone: other numbers may give the same function, and stay in one split."""
        return " ".join(operation.words.partition(" ")[0] for operation in self.operations)

    @property
    def expressions(self) -> tuple[str, ...]:
        """The expression after each operation; the last one is the answer."""
        found = [self.operations[0].apply("x")]
        for inner, operation in pairwise(self.operations):
            found.append(operation.apply(found[-1], inner))
        return tuple(found)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the question that `text` asks, None where it asks none."""
        words = text.removeprefix(_HEAD).split(", ")
        known = len(words) == LENGTH and set(words) <= set(_BY_WORDS)
        if not known or not text.startswith(_HEAD):
            return None
        return cls(tuple(_BY_WORDS[one] for one in words))

    def points(self, answer: str, inputs: Sequence[int] = OPEN_INPUTS) -> float:
        """Return 1 where the answer has the right value at all `inputs`."""
        wanted = parse(self.expressions[-1])
        try:
            found = parse(answer.strip())
            return float(all(evaluate(found, x) == evaluate(wanted, x) for x in inputs))
        except (ExpressionError, EvaluationError):
            return 0.0
