"""When a training has diverged: its loss stays far above where it began."""

from collections import deque
from typing import Final

WINDOW: Final = 50
FACTOR: Final = 3.0
RISE: Final = 0.5
"""Nats a token, as the loss counts them: what was likely has become 40 per cent less so."""


class Divergence:
    """Compares the mean loss of the last `WINDOW` steps with that of the first `WINDOW`.

    It has to be `FACTOR` times as high, and higher by `RISE`: what has learnt its rows by heart has
    next to no loss, of which a harmless one is many times as much. A single bad step stops nothing,
    nor does a loss that rises a little: overfitting is a result.
    """

    def __init__(self) -> None:
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=WINDOW)

    def seen(self, loss: float) -> bool:
        """Take the loss of the next step; whether the training has diverged."""
        if len(self._first) < WINDOW:
            self._first.append(loss)
            return False
        self._last.append(loss)
        high = max(FACTOR * self._then(), self._then() + RISE)
        return len(self._last) == WINDOW and self._now() > high

    def told(self) -> str:
        """The two means in words."""
        return (
            f"the loss of the last {WINDOW} steps is {self._now():.3g}, "
            f"that of the first {WINDOW} was {self._then():.3g}"
        )

    def _then(self) -> float:
        return sum(self._first) / WINDOW

    def _now(self) -> float:
        return sum(self._last) / WINDOW
