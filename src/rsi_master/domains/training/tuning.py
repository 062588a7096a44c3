"""What every training by gradient has in common: which weights move, and how fast."""

import math
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, field_validator

from rsi_master.core.pace import START_SECONDS, pace
from rsi_master.core.recipe import RecipeSpec

Method = Literal["full", "lora"]
Schedule = Literal["cosine", "linear", "constant"]
Target = Literal["attention", "mlp"]

PROJECTIONS: Final[dict[Target, tuple[str, ...]]] = {
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
}
LORA_FIELDS: Final = frozenset({"lora_rank", "lora_alpha", "lora_targets"})

Rate = Annotated[float, Field(ge=1e-7, le=0.1)]
Steps = Annotated[int, Field(ge=1, le=100_000)]
Batch = Annotated[int, Field(ge=1, le=512)]
Length = Annotated[int, Field(ge=8, le=32_768)]


class Tuning(RecipeSpec):
    """Full weights, or a low-rank adapter (LoRA) that is merged at the end.

    `warmup` is a share of all steps. The effective adapter scale is alpha / rank. What `stops` may
    end before its planned steps, with a result that says why.
    """

    stops: ClassVar[bool] = False

    method: Method = "full"
    learning_rate: Rate = 1e-4
    warmup: Annotated[float, Field(ge=0, le=0.5)] = 0.05
    schedule: Schedule = "cosine"
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.0
    lora_rank: Annotated[int, Field(ge=1, le=256)] = 16
    lora_alpha: Annotated[int, Field(ge=1, le=1_024)] = 32
    lora_targets: Annotated[tuple[Target, ...], Field(min_length=1)] = ("attention", "mlp")

    @field_validator("lora_targets")
    @classmethod
    def _normalise(cls, targets: tuple[Target, ...]) -> tuple[Target, ...]:
        return tuple(sorted(set(targets)))

    def parametrisation(self) -> str:
        """`full` or `lora`."""
        return self.method

    def effective(self) -> dict[str, object]:
        """All fields that have an effect: no adapter fields for `full`."""
        return self.model_dump(exclude=self.idle())

    def idle(self) -> set[str]:
        """Names of the fields without effect."""
        return set(LORA_FIELDS) if self.method == "full" else set()

    def trains(self, tensor: str) -> bool:
        """Every tensor for `full`; the weights of the target projections for `lora`."""
        return self.method == "full" or any(
            tensor.endswith(f".{module}.weight") for module in self.projections()
        )

    def projections(self) -> tuple[str, ...]:
        """The module names that carry adapters, in the naming of Llama and Qwen models."""
        return tuple(name for target in self.lora_targets for name in PROJECTIONS[target])


class Passes(Tuning):
    """A training on rows that are there: `steps`, when given, takes the place of `epochs`.

    `max_length` counts the tokens of prompt, answer and end token; what is longer, or longer than
    the model was made for, is dropped and counted.
    """

    epochs: Annotated[float, Field(gt=0, le=100)] = 1.0
    steps: Steps | None = None
    batch_size: Batch = 32
    max_length: Length = 256

    def idle(self) -> set[str]:
        """Of epochs and steps the one that does not count, and adapter fields for `full`."""
        return super().idle() | ({"steps"} if self.steps is None else {"epochs"})

    def planned_steps(self, rows: int) -> int:
        """`steps`, or the batches of `rows` rows times `epochs`, rounded up; 0 without rows."""
        if rows == 0:
            return 0
        if self.steps is not None:
            return self.steps
        return math.ceil(math.ceil(rows / self.batch_size) * self.epochs)

    def device_seconds(self, rows: int, parameters: int) -> float:
        """Upper estimate: every row at `max_length`, at the pace of one slow CPU core."""
        tokens = self.planned_steps(rows) * self.batch_size * self.max_length
        return START_SECONDS + tokens * pace(parameters)
