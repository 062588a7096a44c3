"""Code: a list of operations in words, to be written as one expression of the mini-language.

The canonical key is the sequence of operations.
"""

from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final

from rsi_master.programs.nano.generator.problem import Problem
from rsi_master.programs.nano.partition import Split, split_of

LENGTH: Final = 3
_DIGITS: Final = range(2, 10)


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
        Operation("digit", "{0}%10"),
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
        for digit in _DIGITS
    )
    return (*plain, *numbered)


OPERATIONS: Final = _operations()


def generate(rng: Random, split: Split) -> Problem:
    """Return a problem of `LENGTH` operations on x, applied from left to right."""
    while True:
        chosen = [rng.choice(OPERATIONS) for _ in range(LENGTH)]
        key = ", ".join(operation.words for operation in chosen)
        if split_of("code", key) == split:
            break
    expressions = [chosen[0].apply("x")]
    for inner, operation in pairwise(chosen):
        expressions.append(operation.apply(expressions[-1], inner))
    return Problem("code", key, f"x, {key}", tuple(expressions[:-1]), expressions[-1])
