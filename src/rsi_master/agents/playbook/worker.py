"""The Worker's playbook: train by customary settings, read the curve, vary once at a time."""

from collections.abc import Callable
from functools import partial
from typing import cast

from rsi_master.agents.playbook import rates
from rsi_master.agents.playbook.continuing import next_step
from rsi_master.agents.playbook.replication import Arguments, replica
from rsi_master.core.errors import OverBudget, PolicyDenied
from rsi_master.core.score import Scored, SplitScore
from rsi_master.core.turn import Ask
from rsi_master.domains.data.actions import PoolView
from rsi_master.domains.planning.workers import Assignment
from rsi_master.domains.training.views import WorkerExperimentView
from rsi_master.expos.gateway import Session

Recipe = dict[str, object]

# One to three passes over instruction data are customary (InstructGPT, Alpaca, LIMA's ablations):
# one to see what a rate does, two more from what it left.
FIRST_EPOCHS = 1.0
MORE_EPOCHS = 2.0
# From about here on a batch of 32 rows takes more memory than a job gets (measured at 134.5 million
# parameters: 7 GB, of 8 rows 3.3 GB), so that batches are small. Weights are trained through an
# adapter (LoRA, arXiv 2106.09685), customary for pre-trained models; it saves little else here.
ADAPTER_FROM = 50_000_000
BATCH = 32
SMALL_BATCH = 8
# A pass over instruction data is customarily some hundred updates (Alpaca: 52,000 rows in batches
# of 128). Where there are fewer rows, smaller batches give as many.
UPDATES = 150
# A share that a curve must lose over its last fifth to count as still falling. Of the thresholds of
# Prechelt 1998 ("Early Stopping - But When?": 1 to 5 per cent) a low one: more passes are cheap.
FALLING = 0.02
# How an experiment ends whose job got no more memory: it raised, or the kernel killed each try.
MEMORY = frozenset({"CRASHED", "INFRASTRUCTURE"})


class WorkerPlaybook:
    """Decides from its assignment and its experiments' records."""

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        task = cast(Assignment, session.act("worker.current"))
        if task.running:
            return
        seen = [
            cast(WorkerExperimentView, session.act("experiment.inspect", experiment=name))
            for name in task.experiments
        ]
        move = self._next(ask, session, task, seen) if task.left else None
        if move is None or not self._submitted(session, *move):
            session.act("worker.finalize", **summary(task, seen))

    def _next(
        self, ask: Ask, session: Session, task: Assignment, seen: list[WorkerExperimentView]
    ) -> tuple[str, Arguments] | None:
        if task.purpose == "verify":
            return replica(task, seen)
        if ask.limits.closing:
            return None
        if task.predecessors:
            return self._continued(session, task, seen)
        move = next_recipe(task, seen, partial(_rows, session, task))
        if move is None:
            return None
        recipe, init, data = move
        return "experiment.submit", {"recipe": recipe, "init": init, "data": data}

    def _continued(
        self, session: Session, task: Assignment, seen: list[WorkerExperimentView]
    ) -> tuple[str, Arguments] | None:
        """The next step from the bests of the predecessors."""
        names = [left.best for left in task.predecessors]
        if names[0] is None:
            return None
        parents = [
            cast(WorkerExperimentView, session.act("experiment.inspect", experiment=name))
            for name in names
            if name is not None
        ]
        return next_step(task, parents[0], parents, seen)

    def _submitted(self, session: Session, action: str, arguments: Arguments) -> bool:
        """Whether the training was taken; a budget that does not cover it ends the work, and so do
        data of a kind that the recipe does not take."""
        try:
            session.act(action, **arguments)
        except OverBudget:
            return False
        except PolicyDenied as denied:
            if denied.code not in ("VERIFICATION", "CLOCK", "REPEAT", "KIND"):
                raise
            return False
        return True


def next_recipe(
    task: Assignment, seen: list[WorkerExperimentView], rows: Callable[[], int]
) -> tuple[Recipe, str, str] | None:
    """The next training, or None when the Worker has nothing to add. Only a first training asks how
    many rows the data have: looking is recorded."""
    if not task.data:
        return None
    data = task.data[0]
    if not seen:
        return first_recipe(task, rows()), "base", data
    done = [view for view in seen if view.lifecycle == "finished"]
    if not done:
        return _gentler(seen, data)
    if len(seen) == 1:
        return {**seen[0].recipe, "learning_rate": _raised(seen[0].recipe)}, "base", data
    return _longer(done, seen, data)


def first_recipe(task: Assignment, rows: int) -> Recipe:
    """Full weights, or an adapter for a large base; one pass, a rate from the size of the base.

    Batches are halved until a pass has enough updates, or they are small.

    """
    size = task.base_parameters
    recipe: Recipe = {
        "name": "sft",
        "method": "full",
        "learning_rate": rates.short(rates.customary(size)),
        "epochs": FIRST_EPOCHS,
        "batch_size": _batch(rows),
    }
    if size and size >= ADAPTER_FROM:
        recipe |= {"method": "lora", "batch_size": SMALL_BATCH}
    return recipe


def _batch(rows: int) -> int:
    size = BATCH
    while size > SMALL_BATCH and rows < UPDATES * size:
        size //= 2
    return size


def _rows(session: Session, task: Assignment) -> int:
    """How many rows the data of the direction have."""
    pool = cast(PoolView, session.act("data.list"))
    return sum(one.rows for one in pool.datasets if one.id in task.data[:1])


def still_falling(view: WorkerExperimentView) -> bool:
    """Whether the mean loss of the last fifth lies clearly below that of the fifth before."""
    losses = [point.loss for point in view.curve if point.loss is not None]
    fifth = max(1, len(losses) // 5)
    if len(losses) < 2 * fifth or not losses:
        return True
    last = sum(losses[-fifth:]) / fifth
    before = sum(losses[-2 * fifth : -fifth]) / fifth
    return last < before * (1 - FALLING)


def best_of(views: list[WorkerExperimentView]) -> WorkerExperimentView | None:
    """The finished, accepted experiment with the highest dev average; the earlier one of equals."""
    able = [view for view in views if view.integrity == "accepted" and _value(view.dev) is not None]
    return max(able, key=lambda view: _value(view.dev) or 0.0, default=None)


def summary(task: Assignment, seen: list[WorkerExperimentView]) -> dict[str, object]:
    """A short account that cites the own experiments."""
    best = best_of(seen)
    lines = [f"{task.direction}: {len(seen)} experiment{'s' if len(seen) != 1 else ''}."]
    for view in seen:
        value = _value(view.dev)
        score = f"dev {value:.3f}" if value is not None else view.reason or view.lifecycle
        lines.append(f"{view.id[-8:]} {_settings(view.recipe)}: {score}.")
    if best is None:
        lines.append("None gave an accepted checkpoint.")
    return {
        "summary": " ".join(lines)[:1900],
        "cites": tuple(view.id for view in seen),
        "best": best.id if best else None,
    }


def _longer(
    done: list[WorkerExperimentView], seen: list[WorkerExperimentView], data: str
) -> tuple[Recipe, str, str] | None:
    """From the best so far, once: more passes at the lowest rate that was tried while its loss
    still falls, else one pass at a lower one."""
    best = best_of(done)
    if best is None or any(view.init == best.id or best.init != "base" for view in seen):
        return None
    rate = min(rates.of(view.recipe) for view in done)
    if still_falling(best):
        return {**best.recipe, "learning_rate": rate, "epochs": MORE_EPOCHS}, best.id, data
    lower = rates.short(rate / rates.FACTOR)
    return {**best.recipe, "learning_rate": lower, "epochs": FIRST_EPOCHS}, best.id, data


def _gentler(seen: list[WorkerExperimentView], data: str) -> tuple[Recipe, str, str]:
    """After a failure: the same recipe at a third of the rate, and in half the batch where memory
    may have been short."""
    recipe = dict(seen[-1].recipe)
    recipe["learning_rate"] = rates.short(rates.of(recipe) / rates.FACTOR)
    if seen[-1].reason in MEMORY:
        recipe["batch_size"] = max(1, cast(int, recipe["batch_size"]) // 2)
    return recipe, "base", data


def _raised(recipe: Recipe) -> float:
    return rates.short(rates.of(recipe) * rates.FACTOR)


def _settings(recipe: Recipe) -> str:
    told = ("name", "method", "learning_rate", "epochs", "steps", "rounds", "scale")
    return " ".join(f"{_SHORT.get(name, '')}{recipe[name]}" for name in told if recipe.get(name))


_SHORT = {"learning_rate": "lr ", "epochs": "epochs ", "steps": "steps ", "rounds": "rounds "}


def _value(score: SplitScore | None) -> float | None:
    return score.average.value if score and isinstance(score.average, Scored) else None
