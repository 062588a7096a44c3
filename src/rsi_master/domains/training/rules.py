"""The submission review: what the policy asks of an experiment before it costs anything."""

from rsi_master.core.action import Amounts, Role
from rsi_master.core.experiment import BASE
from rsi_master.core.graph import WorkerCreated
from rsi_master.domains.training.identity import effective
from rsi_master.expos.catalogue import Question
from rsi_master.expos.lineage import (
    refusal_of_data,
    refusal_to_continue,
    trainings,
    verification,
)
from rsi_master.expos.standing import walled


def recipe_is_allowed(question: Question) -> str | None:
    """Only recipes that the contract lists."""
    name = question.action.recipe.name
    allowed = question.contract.policy.recipes
    return None if name in allowed else f"recipe {name!r} is not in the contract: {allowed}"


def data_exists(question: Question) -> str | None:
    """Only datasets that passed the scan."""
    for dataset in question.action.datasets():
        if dataset not in question.state.datasets:
            return f"dataset {dataset[:19]} is not in the pool; see data.list"
    return None


def data_is_untainted(question: Question) -> str | None:
    """No data that a tainted checkpoint wrote."""
    return refusal_of_data(question.state, question.action.datasets())


def data_is_of_its_kind(question: Question) -> str | None:
    """A recipe trains on the kind of rows that it was written for."""
    action = question.action
    dataset = question.state.datasets.get(action.data)
    if dataset is None or dataset.holds == action.recipe.takes:
        return None
    return (
        f"dataset {action.data[:19]} holds {dataset.holds}, and recipe {action.recipe.name} takes "
        f"{action.recipe.takes}; see data.list"
    )


def demonstrations_have_a_use(question: Question) -> str | None:
    """Demonstrations are worked rows, for a recipe that trains on some beside its data."""
    action = question.action
    given = question.state.datasets.get(action.demonstrations or "")
    if given is None:
        return None
    if not action.recipe.demonstrated:
        return f"recipe {action.recipe.name} takes no demonstrations; mix them into the data"
    if given.holds != "rows":
        return f"dataset {action.demonstrations[:19]} holds {given.holds}, no worked rows"
    return None


def verifier_is_there(question: Question) -> str | None:
    """A recipe that learns from a verifier needs a benchmark that has an open one."""
    opened, recipe = question.state.opened, question.action.recipe
    if recipe.judge is not None:
        return None
    if not recipe.verified or (opened is not None and opened.sealed.verifier):
        return None
    return f"recipe {recipe.name} needs an open verifier, and the benchmark has none"


def judge_is_there(question: Question) -> str | None:
    """A program that judges is one of the run, of a kind that the recipe asks."""
    recipe = question.action.recipe
    program = recipe.judge
    if program is None:
        return None
    known = question.state.programs.get(program)
    if known is None:
        return f"program {program[:19]} is not in the run; see program.list"
    if known.kind not in recipe.judged_by:
        wanted = " or a ".join(recipe.judged_by)
        return f"program {program[:19]} is a {known.kind}, and {recipe.name} asks a {wanted}"
    return None


def judge_is_walled(question: Question) -> str | None:
    """A program that judges runs behind walls."""
    return walled(question) if question.action.recipe.judge is not None else None


def merging_is_allowed(question: Question) -> str | None:
    """Merging is off unless the contract allows it."""
    allowed = question.contract.policy.merging
    return None if allowed else "the contract has merging off; continue one checkpoint instead"


def merged_ones_differ(question: Question) -> str | None:
    """A checkpoint that is merged with itself weighs more, which is no field of the recipe."""
    several = question.action.parents()
    twice = [name for name in several if several.count(name) > 1]
    return f"{twice[0]} is named twice; name each checkpoint once" if twice else None


def inits_may_be_continued(question: Question) -> str | None:
    """The base, or an accepted checkpoint of the Worker or a designated predecessor; for a
    verification one that was trained under its own fresh seed."""
    state, node, created = question.state, question.caller.node, _assignment(question)
    for parent in question.action.parents():
        refusal = refusal_to_continue(state, node, parent)
        if refusal is not None:
            return refusal
        queued = state.experiments[parent].queued if parent != BASE else None
        if created is None or created.purpose != "verify" or queued is None:
            continue
        if queued.purpose != "verify" or queued.seed != _fresh_seed(question, created):
            return f"a verification continues what it trained under its own seed, not {parent}"
    return None


def worker_has_experiments_left(question: Question) -> str | None:
    """Main gave the Worker a number of experiments; refunded trials do not count."""
    created = _assignment(question)
    if created is None:
        return None
    used = sum(
        1
        for e in question.state.owned(question.caller.node)
        if e.ended is None or e.ended.spent.experiments > 0
    )
    if used < created.experiments:
        return None
    return f"all {created.experiments} experiments of {question.caller.node} are used; finalise"


def verification_stays_affordable(question: Question) -> str | None:
    """An exploration leaves enough to train and score its whole lineage again on a fresh seed."""
    created, action, state = _assignment(question), question.action, question.state
    if created is None or created.purpose == "verify":
        return None
    dataset = state.datasets.get(action.datasets()[0]) if action.datasets() else None
    seconds = action.recipe.device_seconds(dataset.rows if dataset else 0, state.parameters())
    once = state.costs.scoring.plus(Amounts(device_seconds=seconds, experiments=1))
    need = once.plus(once).plus(verification(state, action.parents()))
    lacking = question.left().lacking(need)
    if not lacking:
        return None
    return f"the {lacking[0]} left would not cover its verification; submit less or finalise"


def not_a_repeat(question: Question) -> str | None:
    """The same effective recipe under the same seed gives the same weights; look it up instead."""
    created = _assignment(question)
    if created is None:
        return None
    verify, digest = created.purpose == "verify", _digest(question)
    for known in question.state.experiments.values():
        queued = known.queued
        if queued is None or queued.effective != digest or queued.purpose != created.purpose:
            continue
        if verify and queued.worker != question.caller.node:
            continue
        if known.ended is None or known.ended.lifecycle == "finished":
            return f"repeats {known.id} of {queued.worker}: equal effective recipe and seed"
    return None


def replication_is_exact(question: Question) -> str | None:
    """A verification Worker trains the lineage that it was made for, and nothing else."""
    created, state = _assignment(question), question.state
    if created is None or created.purpose != "verify" or created.replicates is None:
        return None
    wanted = [state.experiments[n].queued for n in trainings(state, (created.replicates,))]
    if _digest(question) in {queued.effective for queued in wanted if queued is not None}:
        return None
    return f"a verification trains the lineage of {created.replicates} and nothing else"


def experiment_is_in_sight(question: Question) -> str | None:
    """Workers see own and predecessors' experiments, Reviewers those in scope."""
    caller, state = question.caller, question.state
    known = state.experiments.get(question.action.experiment)
    if known is None or known.id == BASE or caller.role in (Role.MAIN, Role.OPERATOR):
        return None
    if caller.role == Role.WORKER:
        sight: tuple[str, ...] = (caller.node, *state.graph.predecessors(caller.node))
    else:
        sight = state.graph.scope(caller.node)
    if known.worker() in sight:
        return None
    return f"{known.id} belongs to {known.worker()}, which {caller.node} may not look into"


def experiment_is_own(question: Question) -> str | None:
    """Only the owner of an experiment, or the operator, cancels it."""
    known = question.state.experiments.get(question.action.experiment)
    if question.caller.role == Role.OPERATOR or known is None:
        return None
    if known.worker() == question.caller.node:
        return None
    return f"{known.id} belongs to {known.worker()}"


def _assignment(question: Question) -> WorkerCreated | None:
    node = question.state.graph.nodes.get(question.caller.node)
    return node.created if node and isinstance(node.created, WorkerCreated) else None


def _digest(question: Question) -> str:
    action = question.action
    return effective(question.state, action.recipe, action.parents(), action.datasets())


def _fresh_seed(question: Question, created: WorkerCreated) -> int:
    return question.contract.policy.promotion_seeds()[created.promotion]
