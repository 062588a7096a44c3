"""Time and ids of the machine."""

import time

import uuid_utils


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Seconds since the epoch; may jump."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that never step back."""
        return time.monotonic()


class Uuid7:
    """Fresh uuid7 texts."""

    def fresh(self) -> str:
        """A new id, sortable by time of birth."""
        return str(uuid_utils.uuid7())
