"""Laws of experiments: fences, ends, and that what was scored is what was trained."""

from collections.abc import Iterator, Sequence

from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event
from rsi_master.core.experiment import (
    BASE,
    AttemptEnded,
    AttemptPlanned,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentEnded,
    ExperimentQueued,
)
from rsi_master.core.probe import ProbeRecorded
from rsi_master.core.run import ClaimScored
from rsi_master.expos.laws.law import finished, flaw
from rsi_master.expos.order import Flaw


def attempts_are_fenced(events: Sequence[Event]) -> list[Flaw]:
    """Fences rise by one, an attempt ends once, one runs at a time for an experiment."""
    open_: dict[str, AttemptPlanned] = {}
    fences: dict[tuple[str, str], int] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, AttemptPlanned):
            key = (fact.experiment, fact.stage)
            if fact.fence != fences.get(key, 0) + 1:
                flaws.append(flaw("FENCE", event, f"fence {fact.fence} does not follow"))
            if any(known.experiment == fact.experiment for known in open_.values()):
                flaws.append(flaw("ATTEMPT_TWICE", event, "planned while another one runs"))
            fences[key] = fact.fence
            open_[fact.job] = fact
        elif isinstance(fact, AttemptEnded) and open_.pop(fact.job, None) is None:
            flaws.append(flaw("ATTEMPT_END", event, f"{fact.job} ends without having begun"))
    if finished(events):
        flaws += [
            Flaw(code="ATTEMPT_OPEN", where=job, what="never ended, and the run is over")
            for job in open_
        ]
    return flaws


def experiments_end_once(events: Sequence[Event]) -> list[Flaw]:
    """Queued once, ended once, and device seconds spent are those of the attempts."""
    queued: set[str] = {BASE}
    ended: set[str] = set()
    seconds: dict[str, float] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ExperimentQueued):
            if fact.experiment in queued:
                flaws.append(flaw("EXPERIMENT_TWICE", event, f"{fact.experiment} queued again"))
            queued.add(fact.experiment)
        elif isinstance(fact, AttemptEnded):
            seconds[fact.experiment] = seconds.get(fact.experiment, 0.0) + fact.seconds
        elif isinstance(fact, ExperimentEnded):
            flaws += _ending(event, fact, queued, ended, seconds.get(fact.experiment, 0.0))
            ended.add(fact.experiment)
    if finished(events):
        flaws += [
            Flaw(code="EXPERIMENT_OPEN", where=name, what="never ended, and the run is over")
            for name in sorted(queued - ended - {BASE})
        ]
    return flaws


def _ending(
    event: Event, fact: ExperimentEnded, queued: set[str], ended: set[str], seconds: float
) -> Iterator[Flaw]:
    if fact.experiment not in queued:
        yield flaw("EXPERIMENT_UNKNOWN", event, f"{fact.experiment} ends without being queued")
    if fact.experiment in ended:
        yield flaw("EXPERIMENT_TWICE", event, f"{fact.experiment} ends again")
    if abs(fact.spent.device_seconds - seconds) > 1e-6:
        spent = fact.spent.device_seconds
        yield flaw("BOOKS", event, f"{spent:g} device seconds spent, attempts took {seconds:g}")


def scores_are_of_the_weights(events: Sequence[Event]) -> list[Flaw]:
    """What was scored, answered a probe or wrote data is what was trained."""
    weights: dict[str, str] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, CheckpointStored):
            weights[fact.experiment] = fact.proof.weights
        elif isinstance(fact, EvaluationRecorded | ClaimScored | ProbeRecorded):
            scored = fact.result.weights if isinstance(fact, ClaimScored) else fact.weights
            if scored != weights.get(fact.experiment, scored):
                flaws.append(flaw("WEIGHTS_DIFFER", event, "scored weights are not those trained"))
        elif isinstance(fact, DatasetRegistered | DatasetRefused) and fact.source.sampled:
            wrote = fact.source.sampled
            if wrote.weights != weights.get(wrote.experiment, wrote.weights):
                told = "weights that wrote its answers are not those trained"
                flaws.append(flaw("WEIGHTS_DIFFER", event, told))
    return flaws
