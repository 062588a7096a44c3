"""What a training job reports of itself in `out/result.json`; the owner checks it."""

from typing import Annotated, Literal

from pydantic import Field

from rsi_master.core.failure import Drop, Failure
from rsi_master.core.model import Value
from rsi_master.domains.training.tensors import Group

Stop = Literal["equal_rewards"]
"""Why a training that has learnt ended before its planned steps."""
Count = Annotated[int, Field(ge=0)]


class TrainResult(Value):
    """One training in figures. Rows are dropped by reason, never shortened.

    Tokens are those of the batches trained on, padding left out; `change` is the norm of the weight
    change by module group; `tokenizer_length` is None for models without tokenizer. `stopped` says
    why fewer steps were done than planned, where the weights are a result all the same.
    """

    steps_planned: Count
    steps_done: Count
    rows_kept: Count
    dropped: dict[Drop, Count] = Field(default_factory=dict)
    tokens_supervised: Count
    tokens_total: Count
    final_loss: float | None
    change: dict[Group, float] = Field(default_factory=dict)
    finite: bool
    tokenizer_length: Count | None
    threads: int
    versions: dict[str, str] = Field(default_factory=dict)
    stopped: Stop | None = None
    failure: Failure | None = None
