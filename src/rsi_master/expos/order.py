"""Whether a sequence of recorded events is the one that was written, judged by the events alone."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rsi_master.core.event import Event
from rsi_master.core.model import Value


class Flaw(Value):
    """One thing that is wrong with a record: a stable code, the place, and what is seen there."""

    code: str
    where: str
    what: str


def judge_order(rows: Sequence[tuple[int, Event | None]]) -> list[Flaw]:
    """Removed, inserted and reordered events, from (stored position, event or unreadable).

    An event carries its own position; an unreadable one is taken to be where it stands.
    """
    own = [position if event is None else event.position for position, event in rows]
    counts = Counter(own)
    twice = [at for at, count in counts.items() if count > 1]
    flaws = _each("EVENT_INSERTED", twice, "another event at this position")
    gone = set(range(max(own, default=-1) + 1)) - set(counts)
    flaws += _each("EVENT_REMOVED", sorted(gone), "missing from the table")
    if not twice:
        late = [at for before, at in pairwise(own) if at < before]
        flaws += _each("EVENT_REORDERED", late, "stands after a later event")
    if not flaws:
        moved = [at for (position, _), at in zip(rows, own, strict=True) if position != at]
        flaws = _each("EVENT_MISPLACED", moved, "stands at another position of the table")
    return flaws + _time(rows)


def _time(rows: Sequence[tuple[int, Event | None]]) -> list[Flaw]:
    events = [event for _, event in rows if event is not None]
    late = [after.position for before, after in pairwise(events) if after.at < before.at]
    return _each("TIME_RUNS_BACK", late, "earlier than the event before it")


def _each(code: str, positions: Iterable[int], what: str) -> list[Flaw]:
    """One flaw for each run of consecutive positions."""
    runs: list[tuple[int, int]] = []
    for at in positions:
        if runs and runs[-1][1] == at - 1:
            runs[-1] = (runs[-1][0], at)
        else:
            runs.append((at, at))
    return [Flaw(code=code, where=span(low, high), what=what) for low, high in runs]


def span(low: int, high: int) -> str:
    """`event 3` or `events 3 to 5`."""
    return f"event {low}" if low == high else f"events {low} to {high}"
