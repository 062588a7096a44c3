"""What one demonstration came to: the claim beside the base, and how broadly it searched."""

from dataclasses import dataclass

from rsi_master.app.reader import Record
from rsi_master.core.experiment import Experiment
from rsi_master.core.run import ClaimScored
from rsi_master.core.score import Scored, SplitScore


@dataclass(frozen=True)
class Outcome:
    """Scores in per cent with their 95 % intervals."""

    base: tuple[float, float, float]
    champion: tuple[float, float, float]
    trained: int
    families: int
    reviews: int
    lineage: str

    def recovered(self, best: float) -> float:
        """The share of the way from the base to `best` per cent."""
        return (self.champion[0] - self.base[0]) / (best - self.base[0])


def counted(record: Record) -> Outcome:
    """The outcome of a run; raises SystemExit for one without a scored claim."""
    state = record.state
    claimed = state.claimed
    if state.claim is None or not isinstance(claimed, ClaimScored):
        raise SystemExit(f"{record.folder.path}: the run ended without a scored claim")
    trained = [e for e in state.experiments.values() if _trained(e)]
    return Outcome(
        base=_interval(claimed.result.base),
        champion=_interval(claimed.result.champion),
        trained=len(trained),
        families=len({e.queued.family for e in trained if e.queued}),
        reviews=sum(1 for node in state.graph.reviews() if node.report),
        lineage=_told(record, state.claim.experiment),
    )


def _trained(experiment: Experiment) -> bool:
    """Whether it took optimiser steps: a merge does not."""
    queued = experiment.queued
    return queued is not None and experiment.checkpoint is not None and not queued.merges


def _interval(score: SplitScore) -> tuple[float, float, float]:
    average = score.average
    if not isinstance(average, Scored):
        raise SystemExit("the claim has a side without a score")
    return 100 * average.value, 100 * average.low, 100 * average.high


def _told(record: Record, experiment: str) -> str:
    """The trainings of the champion, first to last."""
    words: list[str] = []
    name = experiment
    while (known := record.state.experiments.get(name)) is not None and known.queued is not None:
        queued = known.queued
        origins = [record.state.datasets[one].source.origin for one in queued.data]
        words.append(f"{queued.recipe.get('name')} on {' and '.join(origins) or 'checkpoints'}")
        name = queued.init
    return ", then ".join(reversed(words))
