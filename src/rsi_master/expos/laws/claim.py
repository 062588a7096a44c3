"""Laws of the claim: the holdout is opened once, and for a verified checkpoint."""

from collections.abc import Mapping, Sequence

from rsi_master.core.event import Event
from rsi_master.core.experiment import EvaluationRecorded, ExperimentQueued, Purpose
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.run import ClaimFailed, ClaimOpened, ClaimScored
from rsi_master.core.score import Scored
from rsi_master.expos.laws.law import flaw
from rsi_master.expos.order import Flaw


def one_claim(events: Sequence[Event]) -> list[Flaw]:
    """The holdout is opened at most once, and has one result: of that opening and checkpoint."""
    opened: ClaimOpened | None = None
    told = False
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ClaimOpened):
            if opened is not None:
                flaws.append(flaw("CLAIM_TWICE", event, "the holdout was opened before"))
            opened = fact
        elif isinstance(fact, ClaimScored | ClaimFailed):
            if opened is None or (fact.name, fact.experiment) != (opened.name, opened.experiment):
                flaws.append(flaw("CLAIM_UNOPENED", event, "a result without its opening"))
            elif told:
                flaws.append(flaw("CLAIM_TWICE", event, "the opening had a result before"))
            told = True
    return flaws


def claims_are_verified(events: Sequence[Event]) -> list[Flaw]:
    """What is claimed was trained by a Worker that was created to verify, and scored on confirm.

    Whether it is the one that the ranking puts first needs the contract: `app/laws.py`.
    """
    purposes: dict[str, Purpose] = {}
    queued: dict[str, ExperimentQueued] = {}
    scored: set[str] = set()
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, WorkerCreated):
            purposes.setdefault(fact.node, fact.purpose)
        elif isinstance(fact, ExperimentQueued):
            queued.setdefault(fact.experiment, fact)
        elif isinstance(fact, EvaluationRecorded) and _confirmed(fact):
            scored.add(fact.experiment)
        elif isinstance(fact, ClaimOpened):
            why = _unverified(queued.get(fact.experiment), purposes)
            if why is None and fact.experiment not in scored:
                why = "which has no score on confirm"
            if why is not None:
                flaws.append(flaw("CLAIM_UNVERIFIED", event, f"claims {fact.experiment}, {why}"))
    return flaws


def _confirmed(fact: EvaluationRecorded) -> bool:
    found = (score.average for score in fact.scores if score.split == "confirm")
    return any(isinstance(average, Scored) for average in found)


def _unverified(claimed: ExperimentQueued | None, purposes: Mapping[str, Purpose]) -> str | None:
    if claimed is None:
        return "which was not queued"
    if claimed.purpose != "verify" or purposes.get(claimed.worker) != "verify":
        return f"which {claimed.worker} trained, and that is no verification"
    return None
