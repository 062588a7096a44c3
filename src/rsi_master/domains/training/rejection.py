"""Rejection-sampling fine-tuning as a specification (Yuan et al. 2023, arXiv 2308.01825)."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from rsi_master.core.artifact import Digest, RowKind
from rsi_master.core.job import MODELS, Program
from rsi_master.core.pace import (
    JUDGED_PER_SECOND,
    SAMPLING_BATCH,
    START_SECONDS,
    Answer,
    Temperature,
    pace,
    sampling_seconds,
)
from rsi_master.core.program import ProgramKind
from rsi_master.core.recipe import Recipe
from rsi_master.domains.training.tuning import Batch, Length, Steps, Tuning


class RejectionSpec(Tuning):
    """Each round draws `samples` answers to each of the next `prompts` prompts, keeps those that
    the benchmark's open verifier finds right, each once, and takes `steps` supervised steps on all
    that was kept so far and on the demonstrations, if any are given.

    An answer that has no end after `answer_tokens` tokens, or is longer than `max_length` with its
    prompt, is dropped and counted, and so is a prompt that leaves no room for one in what the model
    was made for. The learning rate runs through its schedule in each round.
    `verifier` names a program, a verifier or reward, that takes the place of the benchmark's.
    """

    objective: ClassVar[str] = "rejection"
    takes: ClassVar[RowKind] = "prompts"
    verified: ClassVar[bool] = True
    judged_in: ClassVar[str | None] = "verifier"
    judged_by: ClassVar[tuple[ProgramKind, ...]] = ("verifier", "reward")
    demonstrated: ClassVar[bool] = True

    name: Literal["rejection"] = "rejection"
    rounds: Annotated[int, Field(ge=1, le=20)] = 1
    prompts: Annotated[int, Field(ge=1, le=100_000)] = 200
    samples: Annotated[int, Field(ge=1, le=64)] = 4
    temperature: Temperature = 1.0
    answer_tokens: Answer = 128
    steps: Steps = 100
    batch_size: Batch = 32
    max_length: Length = 256
    verifier: Digest | None = None

    def idle(self) -> set[str]:
        """Without a program that field has no effect."""
        return super().idle() | (set() if self.verifier else {"verifier"})

    def planned_steps(self, rows: int) -> int:
        """`steps` in each round; 0 without rows."""
        return self.rounds * self.steps if rows else 0

    def device_seconds(self, rows: int, parameters: int) -> float:
        """Upper estimate: every answer is drawn, and every row trained on, at its full length."""
        tokens = self.rounds * self.steps * self.batch_size * self.max_length
        batches = self.rounds * (self.prompts * self.samples / SAMPLING_BATCH + 1)
        drawing = sampling_seconds(batches, self.answer_tokens, SAMPLING_BATCH, parameters)
        answers = rows + self.rounds * self.prompts * self.samples
        judging = answers / JUDGED_PER_SECOND if self.verifier else 0.0
        return START_SECONDS + drawing + tokens * pace(parameters) + judging


REJECTION: Final = Recipe(
    name="rejection",
    spec=RejectionSpec,
    program=Program(
        entry="rsi_master.programs.jobs.rejection:run",
        preload=("rsi_master.programs.jobs.rejection", *MODELS),
        runtime="train",
    ),
)
