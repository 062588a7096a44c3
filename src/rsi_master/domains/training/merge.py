"""Merging checkpoints of one's own lineage in weight space, as a specification."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from rsi_master.core.artifact import RowKind
from rsi_master.core.job import Program
from rsi_master.core.recipe import Recipe, RecipeSpec

START_SECONDS: Final = 30.0
BYTES_PER_SECOND: Final = 2e7


class MergeSpec(RecipeSpec):
    """How checkpoints are joined: `linear` is the mean of all of them.

    `task_arithmetic`: the first, and `scale` times the sum of what the others changed of it
    (Ilharco et al. 2023, arXiv 2212.04089). `ties`: the first, and `scale` times the mean of what
    the others changed of it, where of each only the largest share `density` counts, and of these
    the changes of the elected sign (Yadav et al. 2023, arXiv 2306.01708). That share is one of each
    tensor, rounded down to whole numbers, where the paper takes it of all weights together.
    """

    objective: ClassVar[str] = "merge"
    takes: ClassVar[RowKind] = "rows"
    learns: ClassVar[bool] = False

    name: Literal["merge"] = "merge"
    method: Literal["linear", "task_arithmetic", "ties"] = "linear"
    scale: Annotated[float, Field(gt=0, le=2)] = 1.0
    density: Annotated[float, Field(gt=0, le=1)] = 0.2

    def parametrisation(self) -> str:
        """The method."""
        return self.method

    def effective(self) -> dict[str, object]:
        """The method, and of its numbers those that it reads."""
        idle = {"linear": {"scale", "density"}, "task_arithmetic": {"density"}}
        return self.model_dump(exclude=idle.get(self.method, set()))

    def planned_steps(self, rows: int) -> int:
        """None."""
        return 0

    def trains(self, tensor: str) -> bool:
        """Every tensor may change."""
        return True

    def device_seconds(self, rows: int, parameters: int) -> float:
        """Upper estimate for eight checkpoints in single precision."""
        return START_SECONDS + 8 * 4 * parameters / BYTES_PER_SECOND


MERGE: Final = Recipe(
    name="merge",
    spec=MergeSpec,
    program=Program(
        entry="rsi_master.programs.jobs.merge:run",
        preload=("rsi_master.programs.jobs.merge",),
        runtime="train",
    ),
)
