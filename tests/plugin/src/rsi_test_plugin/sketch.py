"""Recipe `sketch`: the model is one number, `skill`, and each step adds to it. It can misbehave."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from rsi_master.core.artifact import RowKind
from rsi_master.core.job import Program
from rsi_master.core.recipe import Recipe, RecipeSpec

Fault = Literal["none", "exception", "exit", "hang", "link", "no_result", "no_change", "not_finite"]
START_SECONDS: Final = 10.0


class SketchSpec(RecipeSpec):
    """`gain` is the mean a step adds, `noise` its seeded spread, `pause` the seconds a step takes.

    `fault` happens before step `fault_at` is done: the job raises, exits with 3, sleeps
    without heartbeat, leaves a link in its folder, or goes on and then delivers no result,
    unchanged weights or NaN.
    """

    objective: ClassVar[str] = "sketch"
    takes: ClassVar[RowKind] = "rows"

    name: Literal["sketch"] = "sketch"
    gain: Annotated[float, Field(ge=-1, le=1)] = 0.1
    noise: Annotated[float, Field(ge=0, le=1)] = 0.01
    steps: Annotated[int, Field(ge=1, le=10_000)] = 3
    pause: Annotated[float, Field(ge=0, le=60)] = 0.0
    fault: Fault = "none"
    fault_at: Annotated[int, Field(ge=1, le=10_000)] = 1

    def parametrisation(self) -> str:
        """Always `full`: there is one weight."""
        return "full"

    def effective(self) -> dict[str, object]:
        """All fields; `fault_at` only with a fault."""
        return self.model_dump(exclude={"fault_at"} if self.fault == "none" else set())

    def planned_steps(self, rows: int) -> int:
        """`steps`, however many rows there are."""
        return self.steps

    def trains(self, tensor: str) -> bool:
        """Only `skill`."""
        return tensor == "skill"

    def device_seconds(self, rows: int, parameters: int) -> float:
        """The pauses and a generous start."""
        return START_SECONDS + self.steps * self.pause


SKETCH: Final = Recipe(
    name="sketch",
    spec=SketchSpec,
    program=Program(
        entry="rsi_test_plugin.program:run",
        preload=("numpy", "safetensors.numpy", "rsi_test_plugin.program"),
        runtime="train",
    ),
)
