"""A closed language of integer expressions in `x`: a subset of Python with its precedence.

    expression: term (('+' | '-') term)*
    term:       factor (('*' | '//' | '%') factor)*
    factor:     ('+' | '-') factor | atom
    atom:       NUMBER | 'x' | '(' expression ')' | NAME '(' expression (',' expression)* ')'

Names are abs (one argument), min and max (two or more). Length, depth and values are bounded, and
nothing is ever handed to Python to run.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

LENGTH_LIMIT: Final = 256
DEPTH_LIMIT: Final = 24
VALUE_LIMIT: Final = 10**12

_TOKEN: Final = re.compile(r" *(0|[1-9][0-9]*|[a-z]+|//|[-+*%(),])")
_BINARY: Final[Mapping[str, Callable[[int, int], int]]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "//": operator.floordiv,
        "%": operator.mod,
    }
)
_SUMS: Final = frozenset("+-")
_PRODUCTS: Final = frozenset(("*", "//", "%"))
_CALLS: Final[Mapping[str, Callable[..., int]]] = MappingProxyType(
    {"abs": abs, "min": min, "max": max}
)


class ExpressionError(ValueError):
    """The text is no expression of the mini-language."""


class EvaluationError(ArithmeticError):
    """The expression has no value at this input: division by zero or a value out of bounds."""


@dataclass(frozen=True, slots=True)
class Number:
    """A non-negative literal."""

    value: int


@dataclass(frozen=True, slots=True)
class Variable:
    """The input `x`."""


@dataclass(frozen=True, slots=True)
class Negation:
    """Unary minus."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Binary:
    """Two operands joined by one of `+ - * // %`."""

    symbol: str
    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Call:
    """One of `abs`, `min` and `max` on its arguments."""

    name: str
    arguments: tuple["Expression", ...]


Expression = Number | Variable | Negation | Binary | Call


def parse(text: str) -> Expression:
    """Return the expression that `text` spells; raise ExpressionError."""
    parser = _Parser(_tokens(text))
    expression = parser.expression()
    parser.expect("")
    return expression


def evaluate(expression: Expression, x: int) -> int:
    """Return the value at `x` as Python computes it; raise EvaluationError."""
    match expression:
        case Number(value):
            return _bounded(value)
        case Variable():
            return x
        case Negation(operand):
            return -evaluate(operand, x)
        case Binary(symbol, left, right):
            return _binary(symbol, evaluate(left, x), evaluate(right, x))
        case Call(name, arguments):
            return _CALLS[name](*(evaluate(argument, x) for argument in arguments))


def _binary(symbol: str, left: int, right: int) -> int:
    if right == 0 and symbol in ("//", "%"):
        raise EvaluationError(f"{left}{symbol}0 divides by zero")
    return _bounded(_BINARY[symbol](left, right))


def _bounded(value: int) -> int:
    if abs(value) > VALUE_LIMIT:
        raise EvaluationError(f"a value exceeds {VALUE_LIMIT} in size")
    return value


def _tokens(text: str) -> list[str]:
    if len(text) > LENGTH_LIMIT:
        raise ExpressionError(f"{len(text)} characters exceed the limit of {LENGTH_LIMIT}")
    tokens: list[str] = []
    position, end = 0, len(text.rstrip(" "))
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError(f"unknown symbol at position {position}: {text[position:]!r}")
        tokens.append(match[1])
        position = match.end()
    return [*tokens, ""]


class _Parser:
    """Recursive descent over the tokens, the last of which is empty."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def expression(self) -> Expression:
        left = self._term()
        while self._peek() in _SUMS:
            left = Binary(self._take(), left, self._term())
        return left

    def expect(self, token: str) -> None:
        found = self._take()
        if found != token:
            raise ExpressionError(f"expected {token or 'the end'!r}, found {found or 'the end'!r}")

    def _term(self) -> Expression:
        left = self._factor()
        while self._peek() in _PRODUCTS:
            left = Binary(self._take(), left, self._factor())
        return left

    def _factor(self) -> Expression:
        self._depth += 1
        if self._depth > DEPTH_LIMIT:
            raise ExpressionError(f"nested deeper than {DEPTH_LIMIT}")
        factor: Expression
        if self._peek() in _SUMS:
            negative = self._take() == "-"
            factor = self._factor()
            factor = Negation(factor) if negative else factor
        else:
            factor = self._atom()
        self._depth -= 1
        return factor

    def _atom(self) -> Expression:
        token = self._take()
        if token.isdigit():
            return Number(int(token))
        if token == "x":
            return Variable()
        if token == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if token in _CALLS:
            return self._call(token)
        raise ExpressionError(f"expected a value, found {token or 'the end'!r}")

    def _call(self, name: str) -> Call:
        self.expect("(")
        arguments = [self.expression()]
        while self._peek() == ",":
            self._take()
            arguments.append(self.expression())
        self.expect(")")
        if (len(arguments) == 1) != (name == "abs"):
            raise ExpressionError(f"{name} does not take {len(arguments)} argument(s)")
        return Call(name, tuple(arguments))

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self) -> str:
        token = self._tokens[self._next]
        if token:
            self._next += 1
        return token
