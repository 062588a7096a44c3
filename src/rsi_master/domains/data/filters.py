"""Which rows of a dataset a filter keeps, and by which condition the others go. Pure."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rsi_master.core.action import Action
from rsi_master.core.artifact import AnyRow, Digest
from rsi_master.core.sealed import Points

Chars = Annotated[int, Field(ge=0, le=1_000_000)]
Condition = Literal["verified", "length", "distinct", "limit"]
CONDITIONS = ("verified", "shortest", "longest", "distinct", "distinct_prompts", "limit")


class Filter(Action):
    """Make a dataset of those rows of another that meet every condition, in their order.

    `verified` drops rows whose answer the benchmark's open verifier knows to be less than right,
    and pairs whose rejected answer it knows to be right; rows that it does not know stay, unless
    `unknown` drops them. `shortest` and `longest` bound each completion in characters. `distinct`
    keeps equal rows once, `distinct_prompts` the first row of each prompt, `limit` the first rows.
    `verifier` names a program that takes the place of the benchmark's; it costs device seconds.
    """

    name = "data.filter"
    effect = "record"

    dataset: Digest
    verified: bool = False
    verifier: Digest | None = None
    unknown: Literal["keep", "drop"] = "keep"
    shortest: Chars | None = None
    longest: Chars | None = None
    distinct: bool = False
    distinct_prompts: bool = False
    limit: Annotated[int, Field(ge=1, le=10_000_000)] | None = None

    @model_validator(mode="after")
    def _conditions_make_sense(self) -> Self:
        given = [getattr(self, name) for name in CONDITIONS]
        if all(value is None or value is False for value in given):
            raise ValueError(f"name a condition: {', '.join(CONDITIONS)}")
        if self.unknown == "drop" and not self.verified:
            raise ValueError("unknown says what verified does; set verified too")
        if self.verifier is not None and not self.verified:
            raise ValueError("verifier says what verified asks; set verified too")
        if self.longest is not None and self.longest < (self.shortest or 0):
            raise ValueError(f"no completion has {self.shortest} to {self.longest} characters")
        return self

    def reads_answers(self) -> bool:
        """Whether a condition is on completions, which prompts alone do not have."""
        return self.verified or self.shortest is not None or self.longest is not None


@dataclass(frozen=True, slots=True)
class Sifted:
    """The rows that are left, and how many went, each by the first condition that it fails."""

    kept: tuple[AnyRow, ...]
    removed: dict[Condition, int]


def sift(rows: Sequence[AnyRow], points: Sequence[Points], asked: Filter) -> Sifted:
    """Apply the conditions; `points` are those of each row's answers, if the filter verifies."""
    kept: list[AnyRow] = []
    removed: Counter[Condition] = Counter()
    seen: set[AnyRow | str] = set()
    for row, found in zip(rows, points, strict=True):
        failed = _failed(row, found, asked, seen)
        if failed is None and len(kept) == asked.limit:
            failed = "limit"
        if failed is not None:
            removed[failed] += 1
            continue
        kept.append(row)
        seen.update((row, row.prompt))
    return Sifted(tuple(kept), dict(removed))


def _failed(
    row: AnyRow, points: Points, asked: Filter, seen: Collection[AnyRow | str]
) -> Condition | None:
    if asked.verified and not _right(points, asked.unknown):
        return "verified"
    if not all(_fits(len(answer), asked) for answer in row.answers()):
        return "length"
    if (asked.distinct and row in seen) or (asked.distinct_prompts and row.prompt in seen):
        return "distinct"
    return None


def _right(points: Points, unknown: Literal["keep", "drop"]) -> bool:
    """Whether nothing that is known speaks against the row: its answer has all points, and the
    second answer of a pair, the rejected one, has not."""
    if None in points and unknown == "drop":
        return False
    wanted = zip(points, (True, False), strict=False)
    return all(found is None or (found == 1) == right for found, right in wanted)


def _fits(length: int, asked: Filter) -> bool:
    return (asked.shortest or 0) <= length and (asked.longest is None or length <= asked.longest)
