"""Programs that agents wrote: source text of one function, known by a digest over kind and text."""

from typing import Annotated, Final, Literal, get_args

from pydantic import Field

from rsi_master.core.action import NodeId
from rsi_master.core.artifact import AnyRow, Artifact
from rsi_master.core.canonical import encode
from rsi_master.core.event import Fact
from rsi_master.core.model import Value

ProgramKind = Literal["transform", "verifier", "reward"]
KINDS: Final[tuple[ProgramKind, ...]] = get_args(ProgramKind)
FUNCTIONS: Final[dict[ProgramKind, tuple[str, tuple[str, ...]]]] = {
    "transform": ("transform", ("row",)),
    "verifier": ("verify", ("prompt", "answer")),
    "reward": ("reward", ("episode",)),
}
"""The function that a program of each kind defines, and its parameters."""
SOURCE_CHARS: Final = 16_000
JOB: Final = "code"
"""What jobs that run a program are called in the record."""

Title = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,40}$")]
Known = Annotated[str, Field(max_length=8_000)]
Score = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class RowTest(Value):
    """An example of a transform: the rows that it makes of a row, in order."""

    row: AnyRow
    made: Annotated[tuple[AnyRow, ...], Field(max_length=8)]


class PointsTest(Value):
    """An example of a verifier or reward: the points of an answer, nothing where it does not know
    the prompt. `known` is the right answer, which a reward is given where there is one."""

    prompt: Known
    answer: Known
    known: Known | None = None
    points: Score | None


Test = RowTest | PointsTest


class ProgramText(Value):
    """The artifact of a program, as its job reads it."""

    kind: ProgramKind
    source: str

    def render(self) -> bytes:
        """Its canonical bytes; their digest is the program's id."""
        return encode(self.model_dump(mode="json"))


class ProgramAdded(Fact):
    """A program passed scan and self-test; only now may it be used. `tests` are the examples that
    it met, as they were given."""

    type = "program.added"

    artifact: Artifact
    kind: ProgramKind
    title: Title
    source_chars: int
    tests: Artifact
    examples: int
    by: NodeId
