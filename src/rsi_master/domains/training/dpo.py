"""Direct preference optimisation as a specification (Rafailov et al. 2023, arXiv 2305.18290)."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from rsi_master.core.artifact import RowKind
from rsi_master.core.job import MODELS, Program
from rsi_master.core.pace import START_SECONDS, pace
from rsi_master.core.recipe import Recipe
from rsi_master.domains.training.tuning import Passes, Rate


class DpoSpec(Passes):
    """Sigmoid loss on pairs of answers (equation 7), against the checkpoint that is continued; no
    smoothing of labels.

    `beta` weighs the divergence from it: the larger, the closer the model stays.
    """

    objective: ClassVar[str] = "dpo"
    takes: ClassVar[RowKind] = "pairs"

    name: Literal["dpo"] = "dpo"
    learning_rate: Rate = 1e-6
    beta: Annotated[float, Field(ge=0.001, le=10)] = 0.1

    def device_seconds(self, rows: int, parameters: int) -> float:
        """Upper estimate: both answers of every pair, through the model and its reference."""
        tokens = self.planned_steps(rows) * 2 * self.batch_size * self.max_length
        return START_SECONDS + tokens * pace(parameters) * 4 / 3


DPO: Final = Recipe(
    name="dpo",
    spec=DpoSpec,
    program=Program(
        entry="rsi_master.programs.jobs.dpo:run",
        preload=("rsi_master.programs.jobs.dpo", *MODELS),
        runtime="train",
    ),
)
