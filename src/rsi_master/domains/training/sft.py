"""Supervised fine-tuning as a specification: full weights or a low-rank adapter (LoRA)."""

from typing import ClassVar, Final, Literal

from rsi_master.core.artifact import RowKind
from rsi_master.core.job import MODELS, Program
from rsi_master.core.recipe import Recipe
from rsi_master.domains.training.tuning import Passes


class SftSpec(Passes):
    """Next-token loss on completions."""

    objective: ClassVar[str] = "sft"
    takes: ClassVar[RowKind] = "rows"

    name: Literal["sft"] = "sft"


SFT: Final = Recipe(
    name="sft",
    spec=SftSpec,
    program=Program(
        entry="rsi_master.programs.jobs.sft:run",
        preload=("rsi_master.programs.jobs.sft", *MODELS),
        runtime="train",
    ),
)
