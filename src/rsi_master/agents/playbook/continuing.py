"""Steps from a checkpoint: the recipe that the direction is about, then one change by what it gave.

The same data go on a notch below the rate that made the checkpoint, as at the end of a schedule.
Other data are learnt at the customary rate again, or the checkpoint's own if that is higher: the
schedule warms up and decays once more (arXiv 2403.08763). Own samples, preferences and rewards,
which correct what is known, take a notch below that.
"""

from collections.abc import Callable, Sequence
from typing import Final

from rsi_master.agents.playbook import rates, settings
from rsi_master.agents.playbook.replication import Arguments
from rsi_master.agents.playbook.scores import value
from rsi_master.core.experiment import BASE
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
    seen: Sequence[WorkerExperimentView],
    branches: Sequence[str] = (),
    root: str = BASE,
) -> Move | None:
    """The next experiment of a direction that continues `start`, the best of its first predecessor;
    a merge joins `branches`, which have the experiment or base `root` in common. None when there is
    nothing to add."""
    if task.recipe == "merge":
        return _merge(branches, root, seen)
    make = MAKERS.get(task.recipe or "sft")
    if make is None or len(seen) >= 2:
        return None
    recipe = make(start, _rate(task, start), task.base_parameters)
    if not seen:
        return _submit(recipe, start.id, task.data)
    first = seen[0]
    if first.lifecycle != "finished":
        gentler = settings.gentler(first)
        return _submit(gentler, start.id, task.data) if gentler is not None else None
    lower = rates.of(first.recipe) / rates.FACTOR
    if value(first.dev) > value(start.dev):
        return _submit(_at(first.recipe, lower), first.id, task.data)
    other = lower if _warms(task, start) else rates.of(recipe) * rates.FACTOR
    return _submit(_at(recipe, other), start.id, task.data)


def _rate(task: Assignment, start: WorkerExperimentView) -> float:
    """Of supervision, from which those of the other recipes follow."""
    own, customary = (
        rates.supervised(start.recipe, task.base_parameters),
        rates.customary(task.base_parameters),
    )
    if _known(task, start):
        return own / rates.FACTOR
    return max(own, customary) / (1 if _warms(task, start) else rates.FACTOR)


def _known(task: Assignment, start: WorkerExperimentView) -> bool:
    """Whether it is trained on what made the checkpoint."""
    return task.data[:1] == start.data[:1]


def _warms(task: Assignment, start: WorkerExperimentView) -> bool:
    """Whether the rate warms up again: supervision by other data."""
    return (task.recipe or "sft") == "sft" and not _known(task, start)


def _submit(recipe: Recipe, init: str, data: Sequence[str]) -> Move:
    named = dict(zip(("data", "demonstrations"), data, strict=False))
    return "experiment.submit", {"recipe": recipe, "init": init, **named}


def _at(recipe: Recipe, rate: float) -> Recipe:
    return {**recipe, "learning_rate": rates.short(rate)}


def _supervised(start: WorkerExperimentView, rate: float, size: int | None) -> Recipe:
    """One pass more."""
    return _at({"name": "sft", **_kept(start, size), "epochs": 1.0}, rate)


def _rejection(start: WorkerExperimentView, rate: float, size: int | None) -> Recipe:
    drawn = {"prompts": PROMPTS, "samples": SAMPLES, "steps": UPDATES}
    return _at({"name": "rejection", **_kept(start, size), **drawn}, rate)


def _dpo(start: WorkerExperimentView, rate: float, size: int | None) -> Recipe:
    return _at({"name": "dpo", **_kept(start, size), "epochs": 1.0}, rate / rates.TENTH)


def _grpo(start: WorkerExperimentView, rate: float, size: int | None) -> Recipe:
    kept = {name: told for name, told in _kept(start, size).items() if name != "batch_size"}
    drawn = {"prompts": GROUP, "samples": GROUP, "steps": REWARDED, "schedule": "constant"}
    return _at({"name": "grpo", **kept, **drawn}, rate / rates.TENTH)


MAKERS: Final[dict[str, Callable[[WorkerExperimentView, float, int | None], Recipe]]] = {
    "sft": _supervised,
    "rejection": _rejection,
    "dpo": _dpo,
    "grpo": _grpo,
}


def _merge(branches: Sequence[str], root: str, seen: Sequence[WorkerExperimentView]) -> Move | None:
    """The mean of all, then their changes added to what they branched from."""
    if len(branches) < 2 or len(seen) >= 2:
        return None
    if not seen:
        return _join({"method": "linear"}, branches[0], tuple(branches[1:]))
    return _join({"method": "task_arithmetic", "scale": SCALE}, root, tuple(branches))


def _join(recipe: Recipe, init: str, others: tuple[str, ...]) -> Move:
    return "experiment.merge", {"recipe": recipe, "init": init, "others": others}


def _kept(start: WorkerExperimentView, size: int | None) -> Recipe:
    """Full weights or an adapter, batches and lengths, as the checkpoint was made; what its recipe
    does not tell, a merge or one without batches of rows, as is customary for the size."""
    kept = ("method", "max_length", "batch_size")
    told = {name: start.recipe[name] for name in kept if name in start.recipe}
    if start.recipe.get("name") == "merge":
        told = {}
    return {**settings.by_size(size), **told}
