"""How a worked answer gets there, written from what the generator says of a question.

The last number of the steps is the result.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

from rsi_master.programs.sealed.gym.format import Task

Metadata = Mapping[str, object]


def steps(task: Task, metadata: Metadata) -> str:
    """The steps in one line."""
    return ", ".join(_WRITERS[task](metadata))


def _sum(metadata: Metadata) -> Iterator[str]:
    """Tens before ones: 43 - 18 is 43 - 10 = 33, 33 - 8 = 25."""
    first, sign, second = str(metadata["expression"]).split()
    result, factor = int(first), 1 if sign == "+" else -1
    for part in _places(int(second)):
        yield f"{result} {sign} {part} = {result + factor * part}"
        result += factor * part


def _product(metadata: Metadata) -> Iterator[str]:
    """Tens before ones: 35 * 46 is 35 * 40 = 1400, 35 * 6 = 210, 1400 + 210 = 1610."""
    first, second = (int(number) for number in str(metadata["expression"]).split(" * "))
    parts = [(place, first * place) for place in _places(second)]
    yield from (f"{first} * {place} = {result}" for place, result in parts)
    if len(parts) > 1:
        yield f"{' + '.join(str(result) for _, result in parts)} = {first * second}"


def _divisor(metadata: Metadata) -> Iterator[str]:
    """Euclid's algorithm: of 30 and 24, 30 mod 24 = 6, 24 mod 6 = 0, so 6."""
    larger, smaller = _pair(metadata)
    while smaller:
        yield f"{larger} mod {smaller} = {larger % smaller}"
        larger, smaller = smaller, larger % smaller
    yield f"so {larger}"


def _multiple(metadata: Metadata) -> Iterator[str]:
    """By the greatest common divisor, which has a task of its own: gcd 2, 6 / 2 = 3, 3 * 4 = 12."""
    larger, smaller = _pair(metadata)
    divisor = math.gcd(larger, smaller)
    yield f"gcd {divisor}"
    yield f"{larger} / {divisor} = {larger // divisor}"
    yield f"{larger // divisor} * {smaller} = {larger // divisor * smaller}"


def _pair(metadata: Metadata) -> tuple[int, int]:
    smaller, larger = sorted(cast(Sequence[int], metadata["numbers"]))
    return larger, smaller


def _places(number: int) -> tuple[int, ...]:
    """The number by its tens and ones; of one digit, itself."""
    return (number // 10 * 10, number % 10) if number > 9 else (number,)


_WRITERS: Final[Mapping[Task, Callable[[Metadata], Iterator[str]]]] = {
    "chain_sum": _sum,
    "products": _product,
    "gcd": _divisor,
    "lcm": _multiple,
}
