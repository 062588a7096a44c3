"""What a record implies about its signed heads, from its events alone."""

import pytest

from rsi_master.core.action import Amounts
from rsi_master.core.event import Fact
from rsi_master.core.run import ClaimFailed, ClaimOpened, RunFinished, RunUnpaused, TurnEnded
from rsi_master.expos.promises import promises
from rsi_master.testing import tape

OTHER = RunUnpaused()
OPENED = ClaimOpened(experiment="a", intent="c", name="claim-c")
FAILED = ClaimFailed(experiment="a", name="claim-c", reason="gone", spent=Amounts())
FINISHED = RunFinished(outcome="no_champion", champion=None, reason="done")
LATE = TurnEnded(order="o", node="main", outcome="interrupted")


@pytest.mark.parametrize(
    ("facts", "sizes"),
    [
        ((), []),
        ((OTHER,) * 3, []),
        ((OTHER,) * 4, [4]),
        ((OTHER,) * 11, [8]),
        ((OTHER, OPENED), []),
        ((OTHER, OPENED, FAILED), [2]),
        ((OPENED, FINISHED, LATE), [2]),
        ((OTHER, OPENED, OTHER, FAILED, FINISHED), [4, 2, 5]),
    ],
)
def test_sizes_that_some_head_must_cover(facts: tuple[Fact, ...], sizes: list[int]) -> None:
    assert [promise.size for promise in promises(tape.events(facts), 4)] == sizes
