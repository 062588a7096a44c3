"""The bench of the demonstration: what it counts of a record, and the share that it recovers."""

from pathlib import Path

import pytest
from bench.demo import outcome, page
from bench.demo.outcome import Outcome

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record
from rsi_master.core.action import Amounts
from rsi_master.core.event import Fact
from rsi_master.core.run import ClaimOpened, ClaimScored
from rsi_master.core.score import ClaimResult
from rsi_master.core.state import State
from rsi_master.testing import tape
from rsi_master.testing.rig import sketch_contract

OPENED = ClaimOpened(experiment="c", intent="i", name="claim-i")
SCORED = ClaimScored(
    experiment="c",
    name="claim-i",
    result=ClaimResult(
        champion=tape.scored("holdout", 0.6),
        base=tape.scored("holdout", 0.2),
        difference=None,
        weights=tape.digest("w"),
        protocol=tape.digest("p"),
        seconds=1.0,
    ),
    spent=Amounts(device_seconds=1.0, evaluations=2),
)


def record(*facts: Fact) -> Record:
    contract, events = sketch_contract(), tape.events(facts)
    return Record(RunFolder(Path("none")), contract, State.replay(contract, events), events)


def test_what_trained_is_counted_and_merges_and_failures_are_not() -> None:
    facts = (
        tape.worker("w1"),
        *tape.life("a", data=()),
        *tape.life("b", family="other", data=()),
        *tape.life("c", init="a", data=(), recipe={"name": "dpo"}),
        *tape.life("m", merges=("b",), family="merged", data=()),
        tape.queued("f", family="failed", data=()),
        tape.requested("r1", "w1"),
        tape.reported("r1"),
        tape.requested("r2", "w1"),
        OPENED,
        SCORED,
    )
    found = outcome.counted(record(*facts))
    assert (found.trained, found.families, found.reviews) == (3, 2, 1)
    assert found.champion == pytest.approx((60.0, 50.0, 70.0))
    assert found.base[0] == pytest.approx(20.0)
    assert found.lineage == "sketch on checkpoints, then dpo on checkpoints"


def test_a_run_without_a_scored_claim_makes_no_row() -> None:
    with pytest.raises(SystemExit, match="without a scored claim"):
        outcome.counted(record(tape.worker("w1")))


def test_the_recovered_gap_is_the_share_of_the_way_to_the_best() -> None:
    one = Outcome((25.0, 20, 30), (65.0, 60, 70), 21, 5, 3, "sft on a")
    assert one.recovered(75.0) == pytest.approx(0.8)
    line = page.row(2, one, 351.6, best=75.0)
    assert line == "| 2 | 25.0 (20.0 to 30.0) | 65.0 (60.0 to 70.0) | 0.80 | 21 | 5 | 3 | 352 |"


def test_without_a_published_best_there_is_no_gap_to_recover() -> None:
    with pytest.raises(SystemExit, match="run make bench-nano"):
        page.best_by_hand(record(tape.worker("w1")))
