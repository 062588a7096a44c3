"""Artifacts: bytes known by digest. A folder is the digest of its manifest of files.

Rows of three kinds are what datasets hold; their fields tell which kind one is.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from rsi_master.core.errors import Misuse
from rsi_master.core.model import Value

Kind = Literal[
    "base", "dataset", "checkpoint", "outputs", "job", "metrics", "log", "contract", "program"
]
RowKind = Literal["rows", "prompts", "pairs"]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class Artifact(Value):
    """What the record says of stored bytes: `size` in bytes over all `files`."""

    digest: Digest
    kind: Kind
    size: int
    files: int = 1


class Row(Value):
    """One training example exactly as the trainer reads it; the loss is on the completion alone."""

    kind: ClassVar[RowKind] = "rows"

    prompt: str
    completion: str

    def answers(self) -> tuple[str, ...]:
        """The completion."""
        return (self.completion,)


class Prompt(Value):
    """A question without an answer: for reinforcement learning and rejection sampling."""

    kind: ClassVar[RowKind] = "prompts"

    prompt: str

    def answers(self) -> tuple[str, ...]:
        """None: a verifier judges what a model says to it."""
        return ()


class Problem(Prompt):
    """A prompt with its known answer: for a verifier to compare with, not to learn."""

    answer: str

    def answers(self) -> tuple[str, ...]:
        """The known answer, which is scanned like one to learn."""
        return (self.answer,)


class Pair(Value):
    """A preference: of two answers to the prompt, `chosen` is the better one."""

    kind: ClassVar[RowKind] = "pairs"

    prompt: str
    chosen: str
    rejected: str

    def answers(self) -> tuple[str, ...]:
        """The better answer and the worse one."""
        return (self.chosen, self.rejected)


AnyRow: TypeAlias = Row | Prompt | Problem | Pair
ROW: Final[TypeAdapter[AnyRow]] = TypeAdapter(AnyRow)


def kind_of(origin: str, rows: Sequence[AnyRow]) -> RowKind:
    """The kind of at least one row; raises Misuse naming `origin` when they are of several."""
    first, *others = sorted({row.kind for row in rows})
    if others:
        raise Misuse(
            "MIXED_ROWS",
            f"{origin} holds {' and '.join((first, *others))}; give each kind a source of its own",
        )
    return first
