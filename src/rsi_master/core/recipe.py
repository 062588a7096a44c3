"""Recipes: ways to train. A specification (light, typed) and the program that carries it out."""

from collections.abc import Sequence
from typing import ClassVar

from rsi_master.core.artifact import RowKind
from rsi_master.core.canonical import digest, encode
from rsi_master.core.job import Program
from rsi_master.core.model import Value
from rsi_master.core.program import ProgramKind


class RecipeSpec(Value):
    """Base of all specifications: closed schemas with ranges, free of any library's names.

    Subclasses declare `name: Literal[...]` as discriminator, the word for their loss, and which
    kind of rows they train on. `verified` recipes need the benchmark's open verifier, or in its
    place an agent's program of one of the kinds `judged_by`, which the field `judged_in` names;
    `demonstrated` ones train on worked rows as well, where a second dataset gives some. What does
    not `learn` takes no optimiser steps.
    """

    objective: ClassVar[str]
    takes: ClassVar[RowKind]
    verified: ClassVar[bool] = False
    demonstrated: ClassVar[bool] = False
    learns: ClassVar[bool] = True
    judged_by: ClassVar[tuple[ProgramKind, ...]] = ()
    judged_in: ClassVar[str | None] = None

    @classmethod
    def uses(cls) -> frozenset[RowKind]:
        """All kinds of rows that may be given to it."""
        return frozenset((cls.takes, "rows") if cls.demonstrated else (cls.takes,))

    @property
    def judge(self) -> str | None:
        """The id of the program that judges answers, if one takes the verifier's place."""
        return getattr(self, self.judged_in) if self.judged_in else None

    def parametrisation(self) -> str:
        """Which weights move, as a family word (`full`, `lora`)."""
        raise NotImplementedError

    def effective(self) -> dict[str, object]:
        """The specification with defaults filled in and fields without effect dropped."""
        raise NotImplementedError

    def planned_steps(self, rows: int) -> int:
        """How many optimiser steps a training on that many rows takes."""
        raise NotImplementedError

    def trains(self, tensor: str) -> bool:
        """Whether the training may change the weight tensor of that name."""
        raise NotImplementedError

    def device_seconds(self, rows: int, parameters: int) -> float:
        """An upper estimate of the device time over that many rows, for a base of that size."""
        raise NotImplementedError


class Recipe(Value):
    """An extension point: a specification type and its program."""

    name: str
    spec: type[RecipeSpec]
    program: Program


def effective_digest(spec: RecipeSpec, init: str, data: Sequence[str]) -> str:
    """Digest of what a training does apart from its seed; equal digests are repeats."""
    return digest(encode({"recipe": spec.effective(), "init": init, "data": list(data)}))
