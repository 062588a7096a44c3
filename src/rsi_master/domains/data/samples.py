"""Own samples as a specification: what is drawn from a checkpoint, and what of it is kept. Light:
the program that draws imports it too."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from rsi_master.core.artifact import RowKind
from rsi_master.core.failure import Drop, Failure
from rsi_master.core.job import MODELS, Program
from rsi_master.core.model import Value
from rsi_master.core.pace import (
    SAMPLING_BATCH,
    START_SECONDS,
    Answer,
    Temperature,
    sampling_seconds,
)

Keep = Literal["right", "pairs"]
Count = Annotated[int, Field(ge=0)]
MAKES: Final[Mapping[Keep, RowKind]] = {"right": "rows", "pairs": "pairs"}
"""The kind of rows that each way of keeping makes."""

# No recipe has such a name.
NAME: Final = "data.sample"
PROGRAM: Final = Program(
    entry="rsi_master.programs.jobs.samples:run",
    preload=("rsi_master.programs.jobs.samples", *MODELS),
    runtime="train",
)


class SampleSpec(Value):
    """`samples` answers to each of `prompts` prompts, drawn at `temperature`, of at most
    `answer_tokens` tokens each; equal seeds ask equal prompts and draw equal answers.

    `right` keeps every answer with all points, equal ones once, at most `per_prompt` of a prompt.
    `pairs` makes one preference pair of each prompt whose answers differ in points: the first of
    the best against the first of the worst.
    """

    keep: Keep = "right"
    prompts: Annotated[int, Field(ge=1, le=100_000)] = 200
    samples: Annotated[int, Field(ge=1, le=64)] = 4
    temperature: Temperature = 1.0
    answer_tokens: Answer = 128
    per_prompt: Annotated[int, Field(ge=1, le=64)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0

    @model_validator(mode="after")
    def _fields_have_a_use(self) -> Self:
        if self.keep == "pairs" and self.samples == 1:
            raise ValueError("a pair takes two answers; give samples 2 or more")
        if self.keep == "pairs" and self.per_prompt is not None:
            raise ValueError("pairs makes one pair of a prompt; leave per_prompt out")
        return self

    def device_seconds(self, rows: int, parameters: int) -> float:
        """Upper estimate: every answer is drawn at its full length, for a base of that size."""
        batches = min(self.prompts, rows) * self.samples / SAMPLING_BATCH + 1
        drawing = sampling_seconds(batches, self.answer_tokens, SAMPLING_BATCH, parameters)
        return START_SECONDS + drawing


class SampleConfig(Value):
    """The whole configuration of the job: with the inputs it fixes the rows, on one type of
    processor. `holds` is the kind of rows whose prompts are asked, `verifier` the benchmark's open
    one as `module:function`."""

    spec: SampleSpec
    holds: RowKind
    verifier: str | None
    threads: Annotated[int, Field(ge=1, le=256)] = 1


class SampleResult(Value):
    """The job in figures, its `out/result.json`: prompts asked, answers drawn, those with all
    points, rows or pairs kept; prompts that were not asked by reason, and empty answers."""

    asked: Count = 0
    drawn: Count = 0
    right: Count = 0
    kept: Count = 0
    dropped: dict[Drop, Count] = Field(default_factory=dict)
    failure: Failure | None = None
