"""How long a slow device takes to train and to draw answers: upper estimates of recipes and data
actions."""

from typing import Annotated, Final

from pydantic import Field

START_SECONDS: Final = 30.0
TOKENS_PER_SECOND: Final = 4_000.0
OPERATIONS_PER_SECOND: Final = 3e10
DECODING_SECONDS: Final = 0.02
"""Of one slow CPU core for the next token of a batch, whatever its size."""
JUDGED_PER_SECOND: Final = 200.0
"""Answers that an agent's program judges on one slow CPU core."""
SAMPLING_BATCH: Final = 128
"""Answers that are drawn side by side."""

Temperature = Annotated[float, Field(ge=0.1, le=2)]
Answer = Annotated[int, Field(ge=1, le=4_096)]


def pace(parameters: int) -> float:
    """Seconds that one token of training takes a slow CPU core.

    It takes 6 operations a parameter (Kaplan et al. 2020, section 2.1), and for a very small model
    the time of the loop around it.
    """
    return max(1 / TOKENS_PER_SECOND, 6 * parameters / OPERATIONS_PER_SECOND)


def sampling_seconds(batches: float, tokens: int, answers: int, parameters: int) -> float:
    """Upper estimate of drawing `batches` batches of `answers` answers of `tokens` tokens each.

    A token takes 2 operations a parameter (Kaplan et al. 2020, section 2.1), and each step of the
    decoding a time of its own.
    """
    return batches * tokens * max(DECODING_SECONDS, answers * pace(parameters) / 3)
