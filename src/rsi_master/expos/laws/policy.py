"""The law that a run stayed within the policy of its contract: its caps, seeds and names."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from rsi_master.core.contract import MERGE, Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import AttemptPlanned, ExperimentQueued
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import ActionSettled
from rsi_master.core.state import State
from rsi_master.expos.laws.law import Check, flaw, states
from rsi_master.expos.lineage import trainings
from rsi_master.expos.order import Flaw

Rule = Callable[[State, Fact, Contract], str | None]


def within_policy(contract: Contract) -> Check:
    """The law that each thing was still allowed when it was recorded: asked of the state before it,
    as the gateway asked."""

    def policy_is_kept(events: Sequence[Event]) -> list[Flaw]:
        found = [
            flaw(code, event, told)
            for state, event in states(contract, events)
            for code, rule in RULES
            if (told := rule(state, event.fact, contract)) is not None
        ]
        return [*found, *_probes(events, contract.research.probes_per_worker)]

    return policy_is_kept


def _workers(state: State, fact: Fact, contract: Contract) -> str | None:
    if not isinstance(fact, WorkerCreated):
        return None
    limits = contract.research
    if len(state.graph.workers()) >= limits.workers:
        return f"research.workers allows {limits.workers} Workers, and this is one more"
    if len(state.active_workers()) >= limits.parallel_workers:
        return f"research.parallel_workers allows {limits.parallel_workers} side by side"
    return None


def _share(state: State, fact: Fact, contract: Contract) -> str | None:
    """A verification gets what its lineage takes, whatever one Worker may have."""
    if not isinstance(fact, WorkerCreated):
        return None
    allowed = contract.research.experiments_per_worker
    if fact.purpose == "verify" and fact.replicates is not None:
        allowed = max(allowed, len(trainings(state, (fact.replicates,))))
    if fact.experiments <= allowed:
        return None
    return f"{fact.node} gets {fact.experiments} experiments of {allowed} for each Worker"


def _experiments(state: State, fact: Fact, _contract: Contract) -> str | None:
    created = _worker(state, fact)
    if created is None:
        return None
    owned = state.owned(created.node)
    used = sum(1 for e in owned if e.ended is None or e.ended.spent.experiments > 0)
    if used < created.experiments:
        return None
    return f"{created.node} was given {created.experiments} experiments, and this is one more"


def _attempts(state: State, fact: Fact, contract: Contract) -> str | None:
    known = state.experiments.get(fact.experiment) if isinstance(fact, AttemptPlanned) else None
    if known is None or not isinstance(fact, AttemptPlanned):
        return None
    ended = [a.ended for a in known.attempts if a.planned.stage == fact.stage and a.ended]
    failed = sum(1 for one in ended if one.ending != "interrupted")
    allowed = contract.policy.attempts_per_experiment
    if failed < allowed:
        return None
    return f"policy.attempts_per_experiment allows {allowed}, and {failed} ended"


def _submissions(state: State, fact: Fact, contract: Contract) -> str | None:
    cap = contract.policy.submissions
    counted = isinstance(fact, DatasetRegistered | DatasetRefused | ProgramAdded)
    if not counted or state.submissions < cap:
        return None
    return f"policy.submissions allows {cap}, and this is one more"


def _programs(state: State, fact: Fact, contract: Contract) -> str | None:
    cap = contract.policy.programs
    if not isinstance(fact, ProgramAdded) or len(state.programs) < cap:
        return None
    return f"policy.programs allows {cap}, and this is one more"


def _seed(state: State, fact: Fact, contract: Contract) -> str | None:
    """Nobody picks a seed: an exploration has that of the contract, a verification the fresh one
    that its Worker was created for."""
    if not isinstance(fact, ExperimentQueued):
        return None
    created, fresh = _worker(state, fact), contract.policy.promotion_seeds()
    if fact.purpose == "explore":
        allowed = [contract.seed]
    else:
        allowed = list(fresh if created is None else fresh[created.promotion :][:1])
    if fact.seed in allowed:
        return None
    return f"{fact.experiment} has seed {fact.seed}, and the contract gives it another"


def _source(_state: State, fact: Fact, contract: Contract) -> str | None:
    """Rows that were made of no other rows come from a source of the contract."""
    if not isinstance(fact, DatasetRegistered | DatasetRefused) or fact.source.parents:
        return None
    if fact.source.origin in contract.policy.sources:
        return None
    return f"rows come from {fact.source.origin!r}, which policy.sources does not name"


def _way(_state: State, fact: Fact, contract: Contract) -> str | None:
    name: object = None
    if isinstance(fact, WorkerCreated):
        name = fact.recipe
    elif isinstance(fact, ExperimentQueued):
        name = MERGE if fact.merges else fact.recipe.get("name", "")
    if name is None or name in contract.policy.ways():
        return None
    return f"recipe {name!r} is none of the contract"


RULES: tuple[tuple[str, Rule], ...] = (
    ("OVER_CAP", _workers),
    ("OVER_CAP", _share),
    ("OVER_CAP", _experiments),
    ("OVER_CAP", _attempts),
    ("OVER_CAP", _submissions),
    ("OVER_CAP", _programs),
    ("SEED", _seed),
    ("NOT_IN_CONTRACT", _source),
    ("NOT_IN_CONTRACT", _way),
)


def _probes(events: Sequence[Event], allowed: int) -> Iterator[Flaw]:
    """Probes beyond what a Worker has. Of two that are out at once one may be too many: what it
    took is recorded then, and its action failed."""
    taken: Counter[str] = Counter()
    beyond: dict[str, Event] = {}
    for event in events:
        fact = event.fact
        if isinstance(fact, ProbeRecorded | ProbeFailed):
            taken[fact.worker] += 1
            if taken[fact.worker] > allowed:
                beyond[fact.intent] = event
        elif isinstance(fact, ActionSettled) and fact.outcome != "failed":
            late = beyond.pop(fact.intent, None)
            if late is not None:
                told = f"research.probes_per_worker allows {allowed}, and this is one more"
                yield flaw("OVER_CAP", late, told)


def _worker(state: State, fact: Fact) -> WorkerCreated | None:
    """The Worker of an experiment that is queued."""
    node = state.graph.nodes.get(fact.worker) if isinstance(fact, ExperimentQueued) else None
    return node.created if node is not None and isinstance(node.created, WorkerCreated) else None
