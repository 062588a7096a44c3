"""How a run ends, and the law that no more is spent than the contract allows."""

import pytest

from rsi_master.core.action import Amounts
from rsi_master.core.contract import Budget
from rsi_master.core.event import Fact
from rsi_master.core.run import ClaimFailed, ClaimOpened, ClaimScored
from rsi_master.core.score import ClaimResult, PairedDifference
from rsi_master.core.state import State
from rsi_master.expos.books import within
from rsi_master.expos.conclusion import conclusion
from rsi_master.testing import tape
from rsi_master.testing.rig import sketch_contract

OPENED = ClaimOpened(experiment="a", intent="i", name="claim-i")


def claimed(low: float | None, seconds: float = 1.0) -> ClaimScored:
    """A claim whose gain over the base begins at `low`; None when one side was not scored."""
    difference = None
    if low is not None:
        difference = PairedDifference(
            mean=low + 0.1, low=low, high=low + 0.2, p=0.01, n=90, discordant=20
        )
    result = ClaimResult(
        champion=tape.scored("holdout", 0.6),
        base=tape.scored("holdout", 0.5),
        difference=difference,
        weights=tape.digest("w"),
        protocol=tape.digest("p"),
        seconds=seconds,
    )
    spent = Amounts(device_seconds=seconds, evaluations=2)
    return ClaimScored(experiment="a", name="claim-i", result=result, spent=spent)


def after(*facts: Fact) -> State:
    return State.replay(sketch_contract(), tape.events((*tape.life("a"), OPENED, *facts)))


def test_a_gain_that_the_claim_shows_makes_a_champion() -> None:
    assert conclusion(after(claimed(0.01)), "done") == ("champion", "done")


@pytest.mark.parametrize("low", [0.0, -0.05, -0.3])
def test_a_gain_that_the_claim_does_not_show_makes_none(low: float) -> None:
    outcome, reason = conclusion(after(claimed(low)), "done")
    assert outcome == "no_champion"
    assert f"from {100 * low:+.1f}" in reason


def test_a_claim_without_a_score_makes_none() -> None:
    assert conclusion(after(claimed(None)), "done")[0] == "no_champion"
    failed = ClaimFailed(experiment="a", name="claim-i", reason="spent", spent=Amounts())
    assert conclusion(after(failed), "done") == ("no_champion", "spent")
    assert conclusion(after(), "nothing to claim") == ("no_champion", "nothing to claim")


def test_a_flag_after_the_claim_takes_the_champion_back() -> None:
    outcome, reason = conclusion(after(claimed(0.2), tape.integrity("a", "flagged")), "done")
    assert outcome == "no_champion"
    assert "flagged a" in reason


@pytest.mark.parametrize(("seconds", "found"), [(50.0, []), (500.0, ["budget.device_seconds"])])
def test_overspending_is_named(seconds: float, found: list[str]) -> None:
    budget = Budget(device_seconds=100.0, wall_seconds=60.0, evaluations=20, experiments=5)
    flaws = within(budget)(tape.events((*tape.life("a"), OPENED, claimed(0.1, seconds))))
    assert [flaw.where for flaw in flaws] == found
    assert {flaw.code for flaw in flaws} <= {"OVERSPENT"}
