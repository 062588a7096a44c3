"""Steps from a checkpoint: the recipe that the direction is about, then one change by what it gave.

What is continued goes on a notch below the rate that made it, as at the end of a schedule.
"""

from collections.abc import Callable, Sequence
from typing import Final

from rsi_master.agents.playbook import rates
from rsi_master.agents.playbook.replication import Arguments
from rsi_master.core.score import Scored, SplitScore
from rsi_master.domains.planning.workers import Assignment
from rsi_master.domains.training.views import WorkerExperimentView

Recipe = dict[str, object]
Move = tuple[str, Arguments]

# A few answers to each of some hundred prompts give about as many right ones as a pass of
# supervision has rows (arXiv 2308.01825 takes up to 100 to each of 7,500).
PROMPTS = 300
SAMPLES = 4
# As many updates as a pass of supervision customarily has.
UPDATES = 150
# A group of eight tells answers apart at little cost (arXiv 2402.03300 takes 64).
GROUP = 8
REWARDED = 40
# Of merged changes this much is kept in the mean over the settings of arXiv 2212.04089, figure 15.
SCALE = 0.5


def next_step(
    task: Assignment,
    start: WorkerExperimentView,
    parents: Sequence[WorkerExperimentView],
    seen: Sequence[WorkerExperimentView],
) -> Move | None:
    """The next experiment of a direction that continues `start`, the best of its first predecessor;
    `parents` are the bests of all. None when there is nothing to add."""
    if task.recipe == "merge":
        return _merge(parents, seen)
    make = MAKERS.get(task.recipe or "sft")
    if make is None or len(seen) >= 2:
        return None
    rate = rates.supervised(start.recipe, task.base_parameters) / rates.FACTOR
    recipe = make(start, rate)
    if not seen:
        return _submit(recipe, start.id, task.data)
    first = seen[0]
    if first.lifecycle != "finished":
        return _submit(_at(recipe, rates.of(recipe) / rates.FACTOR), start.id, task.data)
    if value(first.dev) > value(start.dev):
        lower = rates.of(first.recipe) / rates.FACTOR
        return _submit(_at(first.recipe, lower), first.id, task.data)
    return _submit(_at(recipe, rates.of(recipe) * rates.FACTOR), start.id, task.data)


def value(score: SplitScore | None) -> float:
    """The average of a score; below all others without one."""
    return score.average.value if score and isinstance(score.average, Scored) else -1.0


def _submit(recipe: Recipe, init: str, data: Sequence[str]) -> Move:
    named = dict(zip(("data", "demonstrations"), data, strict=False))
    return "experiment.submit", {"recipe": recipe, "init": init, **named}


def _at(recipe: Recipe, rate: float) -> Recipe:
    return {**recipe, "learning_rate": rates.short(rate)}


def _supervised(start: WorkerExperimentView, rate: float) -> Recipe:
    """One pass more."""
    return _at({"name": "sft", **_kept(start), "epochs": 1.0}, rate)


def _rejection(start: WorkerExperimentView, rate: float) -> Recipe:
    drawn = {"prompts": PROMPTS, "samples": SAMPLES, "steps": UPDATES}
    return _at({"name": "rejection", **_kept(start), **drawn}, rate)


def _dpo(start: WorkerExperimentView, rate: float) -> Recipe:
    return _at({"name": "dpo", **_kept(start), "epochs": 1.0}, rate / rates.TENTH)


def _grpo(start: WorkerExperimentView, rate: float) -> Recipe:
    kept = {name: told for name, told in _kept(start).items() if name != "batch_size"}
    drawn = {"prompts": GROUP, "samples": GROUP, "steps": REWARDED, "schedule": "constant"}
    return _at({"name": "grpo", **kept, **drawn}, rate / rates.TENTH)


MAKERS: Final[dict[str, Callable[[WorkerExperimentView, float], Recipe]]] = {
    "sft": _supervised,
    "rejection": _rejection,
    "dpo": _dpo,
    "grpo": _grpo,
}


def _merge(
    parents: Sequence[WorkerExperimentView], seen: Sequence[WorkerExperimentView]
) -> Move | None:
    """The mean of all, then their changes added to what they branched from."""
    if len(parents) < 2 or len(seen) >= 2:
        return None
    names = tuple(view.id for view in parents)
    if not seen:
        return _join({"method": "linear"}, names[0], names[1:])
    return _join({"method": "task_arithmetic", "scale": SCALE}, parents[0].init, names)


def _join(recipe: Recipe, init: str, others: tuple[str, ...]) -> Move:
    return "experiment.merge", {"recipe": recipe, "init": init, "others": others}


def _kept(start: WorkerExperimentView) -> Recipe:
    """Full weights or an adapter, batches and lengths, as the checkpoint was made."""
    if start.recipe.get("name") == "merge":
        return {}
    kept = ("method", "max_length", "batch_size")
    return {name: start.recipe[name] for name in kept if name in start.recipe}
