"""Group-relative policy optimisation as a specification: the advantages of GRPO (Shao et al. 2024,
arXiv 2402.03300), the loss of DAPO over tokens (Yu et al. 2025, arXiv 2503.14476)."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from rsi_master.core.artifact import Digest, RowKind
from rsi_master.core.job import MODELS, Program
from rsi_master.core.pace import (
    JUDGED_PER_SECOND,
    START_SECONDS,
    Answer,
    Temperature,
    pace,
    sampling_seconds,
)
from rsi_master.core.program import ProgramKind
from rsi_master.core.recipe import Recipe
from rsi_master.domains.training.tuning import Length, Rate, Steps, Tuning


class GrpoSpec(Tuning):
    """Reinforcement learning from the benchmark's open verifier: each step draws `samples` answers
    of at most `answer_tokens` tokens to each of `prompts` prompts, or to all where there are fewer,
    and reinforces those above the mean of their group.

    The advantage of an answer is its reward less the mean of its group, by the group's standard
    deviation (arXiv 2402.03300, section 4.1.2). Each token of a step counts alike, also those of
    answers that were cut (arXiv 2503.14476, section 3.3), not each answer as in GRPO. Of DAPO there
    is no more than that: no clipping at two heights, no drawing again of groups with equal rewards,
    no penalty of length.

    Where all answers to a prompt have equal rewards nothing is learnt. Ten such steps in a row end
    the training: it is a result if it had learnt before and its rewards did not fall.

    `beta` weighs the divergence from the checkpoint that is continued (arXiv 2402.03300, equation
    4, times the ratio of likelihoods, by which its gradient has no bias: DeepSeek-AI 2025, arXiv
    2512.02556). A prompt of more than `max_length` tokens, or than the model was made for
    beside an answer, or one that the verifier does not know, is dropped and counted. `reward` names
    a program, a reward or verifier, that takes the place of the benchmark's verifier.
    """

    objective: ClassVar[str] = "grpo"
    takes: ClassVar[RowKind] = "prompts"
    verified: ClassVar[bool] = True
    judged_in: ClassVar[str | None] = "reward"
    judged_by: ClassVar[tuple[ProgramKind, ...]] = ("reward", "verifier")
    stops: ClassVar[bool] = True

    name: Literal["grpo"] = "grpo"
    learning_rate: Rate = 1e-6
    steps: Steps = 40
    prompts: Annotated[int, Field(ge=1, le=256)] = 8
    samples: Annotated[int, Field(ge=2, le=64)] = 8
    temperature: Temperature = 1.0
    answer_tokens: Answer = 128
    max_length: Length = 256
    beta: Annotated[float, Field(ge=0, le=10)] = 0.0
    reward: Digest | None = None

    def idle(self) -> set[str]:
        """Without a program that field has no effect."""
        return super().idle() | (set() if self.reward else {"reward"})

    def planned_steps(self, rows: int) -> int:
        """`steps`; 0 without rows."""
        return self.steps if rows else 0

    def device_seconds(self, rows: int, parameters: int) -> float:
        """Upper estimate: every answer is drawn, and trained on, at its greatest length."""
        answers = self.prompts * self.samples
        tokens = self.steps * answers * (self.max_length + self.answer_tokens)
        drawing = sampling_seconds(self.steps, self.answer_tokens, answers, parameters)
        judging = (rows + self.steps * answers) / JUDGED_PER_SECOND if self.reward else 0.0
        return START_SECONDS + drawing + tokens * pace(parameters) * 4 / 3 + judging


GRPO: Final = Recipe(
    name="grpo",
    spec=GrpoSpec,
    program=Program(
        entry="rsi_master.programs.jobs.grpo:run",
        preload=("rsi_master.programs.jobs.grpo", *MODELS),
        runtime="train",
    ),
)
