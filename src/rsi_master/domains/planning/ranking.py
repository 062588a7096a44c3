"""The ranking that selects: recipes by their mean over seeds on confirm (`selection =
"confirmed"`). The checkpoint returned is the one of the seed that the contract fixed."""

from statistics import fmean

from rsi_master.core.experiment import Experiment
from rsi_master.core.model import Value
from rsi_master.core.score import Scored
from rsi_master.core.state import State
from rsi_master.expos.lineage import selectable


class Candidate(Value):
    """One recipe with every accepted training of it. `claimable` is the experiment whose
    checkpoint would be returned: the verification under the fixed seed.

    Of a verified recipe the seeds and the mean are those of its verifications: the score that won
    the search is high by choice. A seed counts once, by its mean, however often it was trained.
    """

    effective: str
    experiments: tuple[str, ...]
    family: str
    seeds: int
    confirm_mean: float
    claimable: str | None


def rank(state: State, fixed: int) -> tuple[Candidate, ...]:
    """Candidates, best mean first; ties go to more seeds, then to the earlier recipe. `fixed` is
    the seed of what may be claimed."""
    groups: dict[str, list[Experiment]] = {}
    for experiment in state.experiments.values():
        if experiment.queued is not None and selectable(state, experiment):
            groups.setdefault(experiment.queued.effective, []).append(experiment)
    found = [_candidate(effective, group, fixed) for effective, group in groups.items()]
    return tuple(sorted(found, key=lambda c: (-c.confirm_mean, -c.seeds)))


def _candidate(effective: str, group: list[Experiment], fixed: int) -> Candidate:
    scored = [e for e in group if _confirm(e) is not None]
    verified = [e for e in scored if e.queued and e.queued.purpose == "verify"]
    by_seed: dict[int, list[float]] = {}
    for experiment in verified or scored:
        score = _confirm(experiment)
        if experiment.queued is not None and score is not None:
            by_seed.setdefault(experiment.queued.seed, []).append(score)
    means = [fmean(scores) for scores in by_seed.values()]
    return Candidate(
        effective=effective,
        experiments=tuple(e.id for e in group),
        family=group[0].queued.family if group[0].queued else "",
        seeds=len(means),
        confirm_mean=fmean(means) if means else 0.0,
        claimable=next((e.id for e in verified if e.queued and e.queued.seed == fixed), None),
    )


def _confirm(experiment: Experiment) -> float | None:
    score = experiment.score("confirm")
    if score is None or not isinstance(score.average, Scored):
        return None
    return score.average.value
