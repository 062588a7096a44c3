"""Laws that need the contract: a run on fakes keeps them, and each one broken by hand is named."""

from collections.abc import Sequence

import pytest

from rsi_master.app.laws import UNDER_CONTRACT, laws
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRegistered, Source
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.run import ClaimOpened, ClaimScored, RunFinished
from rsi_master.core.score import PairedDifference
from rsi_master.testing.rig import Rig, sketch_contract

CONTRACT = sketch_contract()
GAIN = PairedDifference(mean=0.4, low=0.3, high=0.5, p=0.001, n=30, discordant=14)


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> tuple[Event, ...]:
    """Two directions, both verified, the better one claimed; its end is written by hand."""
    rig = Rig(tmp_path_factory.mktemp("laws"), CONTRACT)
    try:
        rig.score_base()
        data = rig.add()
        names = [rig.explored(data, steps=steps)[1] for steps in (1, 6)]
        _, again = (rig.verified(name)[1] for name in names)
        rig.main().act("champion.claim", experiment=again)
        rig.settle()
        events = rig.events()
    finally:
        rig.close()
    end = RunFinished(outcome="champion", champion=again, reason="done")
    last = events[-1]
    over = last.model_copy(update={"fact": end, "position": last.position + 1})
    return with_facts((*events, over), lambda fact: gained(fact, GAIN))


def gained(fact: Fact, by: PairedDifference | None) -> Fact:
    """What a claim gave."""
    if not isinstance(fact, ClaimScored):
        return fact
    return fact.model_copy(update={"result": fact.result.model_copy(update={"difference": by})})


def with_facts(events: Sequence[Event], changed: object) -> tuple[Event, ...]:
    assert callable(changed)
    return tuple(event.model_copy(update={"fact": changed(event.fact)}) for event in events)


def changed(events: Sequence[Event], kind: type[Fact], **update: object) -> tuple[Event, ...]:
    """The last fact of a kind, changed."""
    at = max(event.position for event in events if isinstance(event.fact, kind))
    return tuple(
        event.model_copy(update={"fact": event.fact.model_copy(update=update)})
        if event.position == at
        else event
        for event in events
    )


def flaws(events: Sequence[Event], contract: Contract = CONTRACT) -> list[str]:
    return [flaw.code for law in UNDER_CONTRACT for flaw in law(contract)(events)]


def other(events: Sequence[Event], purpose: str) -> str:
    """The first experiment of a purpose, which is not what was claimed."""
    queued = [e.fact for e in events if isinstance(e.fact, ExperimentQueued)]
    return next(fact.experiment for fact in queued if fact.purpose == purpose)


def test_a_sound_record_keeps_every_law_at_any_moment(record: tuple[Event, ...]) -> None:
    assert [flaw for law in laws(CONTRACT) for flaw in law(record)] == []
    for count in range(0, len(record), 7):
        assert flaws(record[:count]) == []


@pytest.mark.parametrize("purpose", ["explore", "verify"])
def test_a_claim_of_anything_but_the_first_verified_one_is_found(
    record: tuple[Event, ...], purpose: str
) -> None:
    assert "CLAIM_NOT_DUE" in flaws(changed(record, ClaimOpened, experiment=other(record, purpose)))


@pytest.mark.parametrize(
    "difference", [None, GAIN.model_copy(update={"mean": -0.3, "low": -0.5, "high": -0.1})]
)
def test_a_champion_without_a_gain_is_found(
    record: tuple[Event, ...], difference: PairedDifference | None
) -> None:
    assert flaws(with_facts(record, lambda fact: gained(fact, difference))) == ["CHAMPION"]


def test_a_champion_that_was_not_claimed_is_found(record: tuple[Event, ...]) -> None:
    assert flaws(changed(record, RunFinished, champion=other(record, "explore"))) == ["CHAMPION"]
    without = tuple(e for e in record if not isinstance(e.fact, ClaimScored))
    assert "CHAMPION" in flaws(without)


def test_what_the_contract_does_not_name_is_found(record: tuple[Event, ...]) -> None:
    source = Source(origin="elsewhere")
    assert flaws(changed(record, DatasetRegistered, source=source)) == ["NOT_PERMITTED"]
    assert "NOT_PERMITTED" in flaws(changed(record, ExperimentQueued, recipe={"name": "magic"}))
    assert "NOT_PERMITTED" in flaws(changed(record, ExperimentQueued, seed=7))


@pytest.mark.parametrize(
    ("section", "name", "limit"),
    [
        ("research", "workers", 3),
        ("research", "experiments_per_worker", 2),
        ("policy", "submissions", 0),
    ],
)
def test_more_than_the_contract_allows_is_found(
    record: tuple[Event, ...], section: str, name: str, limit: int
) -> None:
    part = getattr(CONTRACT, section).model_copy(update={name: limit})
    tight = CONTRACT.model_copy(update={section: part})
    found = [flaw for law in UNDER_CONTRACT for flaw in law(tight)(record)]
    assert [(flaw.code, flaw.where) for flaw in found] == [("OVER_CONTRACT", f"{section}.{name}")]


def test_more_experiments_than_a_worker_may_have_are_found(record: tuple[Event, ...]) -> None:
    first = next(e for e in record if isinstance(e.fact, WorkerCreated))
    greedy = first.model_copy(update={"fact": first.fact.model_copy(update={"experiments": 1000})})
    assert flaws([greedy if e is first else e for e in record]) == ["OVER_CONTRACT"]
