"""What a training job tells beside its weights: the spool of metrics and the result."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from rsi_master.core import canonical
from rsi_master.core.failure import Failure, Reason
from rsi_master.core.model import Value


class Untrainable(Exception):
    """The inputs or the training itself do not allow a result; becomes data, not a crash."""

    def __init__(self, code: Reason, detail: str) -> None:
        super().__init__(detail)
        self.failure = Failure(code=code, detail=detail)


class Metric(Value):
    """One logged step; `tokens` so far, padding left out. `reward` is the mean over the answers of
    the step, where answers are rewarded."""

    step: int
    loss: float
    learning_rate: float
    grad_norm: float
    tokens: int
    rows_per_second: float
    reward: float | None = None


class Spool:
    """Appends metrics, one JSON line each, visible at once: they are the job's heartbeat.

    A disk that refuses a line costs that line and one warning, never the training.
    """

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._warned = False
        self._step, self._time = 0, time.monotonic()

    def log(self, metric: Metric) -> None:
        """Write one line."""
        try:
            self._file.write(canonical.encode(metric.model_dump()) + b"\n")
        except OSError as cause:
            if not self._warned:
                print(f"metrics.jsonl: line lost: {cause}", file=sys.stderr)
            self._warned = True

    def rate(self, step: int, rows: int) -> float:
        """Rows per second since the last call, with `rows` rows a step."""
        now = time.monotonic()
        pace = (step - self._step) * rows / max(now - self._time, 1e-9)
        self._step, self._time = step, now
        return pace


@contextmanager
def spool(out: Path) -> Iterator[Spool]:
    """The spool `out/metrics.jsonl`, unbuffered."""
    with FileIO(out / "metrics.jsonl", "a") as file:
        yield Spool(file)


def write(out: Path, result: Value) -> None:
    """Write `out/result.json` whole or not at all; it is the last thing that a job does."""
    draft = out / "result.json.draft"
    draft.write_bytes(canonical.encode(result.model_dump()))
    draft.replace(out / "result.json")
