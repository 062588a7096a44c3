"""Supervised fine-tuning as a specification: full weights or a low-rank adapter (LoRA)."""

import math
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, field_validator

from rsi_master.core.artifact import RowKind
from rsi_master.core.job import Program
from rsi_master.core.recipe import Recipe, RecipeSpec

Method = Literal["full", "lora"]
Schedule = Literal["cosine", "linear", "constant"]
Target = Literal["attention", "mlp"]

PROJECTIONS: Final[dict[Target, tuple[str, ...]]] = {
    "attention": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
}
LORA_FIELDS: Final = frozenset({"lora_rank", "lora_alpha", "lora_targets"})
MODELS: Final = (
    "transformers.models.qwen3.modeling_qwen3",
    "transformers.models.llama.modeling_llama",
)
START_SECONDS: Final = 30.0
TOKENS_PER_SECOND: Final = 4_000.0
OPERATIONS_PER_SECOND: Final = 3e10


class SftSpec(RecipeSpec):
    """Next-token loss on completions. `steps`, when given, takes the place of `epochs`.

    `warmup` is a share of all steps, `max_length` counts the tokens of prompt, completion and end
    token; a longer row is dropped and counted. The effective adapter scale is alpha / rank.
    """

    objective: ClassVar[str] = "sft"
    takes: ClassVar[RowKind] = "rows"

    name: Literal["sft"] = "sft"
    method: Method = "full"
    learning_rate: Annotated[float, Field(ge=1e-7, le=0.1)] = 1e-4
    epochs: Annotated[float, Field(gt=0, le=100)] = 1.0
    steps: Annotated[int, Field(ge=1, le=100_000)] | None = None
    batch_size: Annotated[int, Field(ge=1, le=512)] = 32
    warmup: Annotated[float, Field(ge=0, le=0.5)] = 0.05
    schedule: Schedule = "cosine"
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_length: Annotated[int, Field(ge=8, le=32_768)] = 256
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
        """All fields that have an effect: no adapter fields for `full`, no epochs beside steps."""
        idle = {"steps"} if self.steps is None else {"epochs"}
        if self.method == "full":
            idle |= LORA_FIELDS
        return self.model_dump(exclude=idle)

    def planned_steps(self, rows: int) -> int:
        """`steps`, or the batches of `rows` rows times `epochs`, rounded up; 0 without rows."""
        if rows == 0:
            return 0
        if self.steps is not None:
            return self.steps
        return math.ceil(math.ceil(rows / self.batch_size) * self.epochs)

    def trains(self, tensor: str) -> bool:
        """Every tensor for `full`; the weights of the target projections for `lora`."""
        return self.method == "full" or any(
            tensor.endswith(f".{module}.weight") for module in self.projections()
        )

    def projections(self) -> tuple[str, ...]:
        """The module names that carry adapters, in the naming of Llama and Qwen models."""
        return tuple(name for target in self.lora_targets for name in PROJECTIONS[target])

    def device_seconds(self, rows: int, parameters: int) -> float:
        """Upper estimate: every row at `max_length`, at the pace of one slow CPU core.

        A token takes 6 operations a parameter (Kaplan et al. 2020, section 2.1), and for a very
        small model the time of the loop around it.
        """
        tokens = self.planned_steps(rows) * self.batch_size * self.max_length
        pace = max(1 / TOKENS_PER_SECOND, 6 * parameters / OPERATIONS_PER_SECOND)
        return START_SECONDS + tokens * pace


SFT: Final = Recipe(
    name="sft",
    spec=SftSpec,
    program=Program(
        entry="rsi_master.programs.jobs.sft:run",
        preload=("rsi_master.programs.jobs.sft", *MODELS),
        runtime="train",
    ),
)
