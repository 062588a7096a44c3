"""What a job of ours says in its result: why there is nothing to show, and why it dropped rows."""

from typing import Literal

from rsi_master.core.model import Value

Reason = Literal[
    "NO_ROWS",
    "WRONG_ROWS",
    "WRONG_INIT",
    "WRONG_TOKENIZER",
    "NOT_FINITE",
    "DIVERGED",
    "NO_VERIFIER",
    "EQUAL_REWARDS",
    "NO_RIGHT_ANSWER",
    "NO_CONTRAST",
    "PROGRAM_FAILED",
]
Drop = Literal["too_long", "empty", "end_inside", "unverifiable", "contradictory", "cut"]


class Failure(Value):
    """Why there is no result."""

    code: Reason
    detail: str
