"""The Worker's playbook: train by customary settings, read the curve, vary once at a time."""

from collections.abc import Callable
from functools import partial
from typing import cast

from rsi_master.agents.playbook import rates, settings
from rsi_master.agents.playbook.continuing import next_step
from rsi_master.agents.playbook.replication import Arguments, replica
from rsi_master.agents.playbook.scores import NONE, value
from rsi_master.core.errors import OverBudget, PolicyDenied
from rsi_master.core.experiment import BASE
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
# A pass over instruction data is customarily some hundred updates (Alpaca: 52,000 rows in batches
# of 128). Where there are fewer rows, smaller batches give as many.
UPDATES = 150
# A share that a curve must lose from its middle to its end to count as still falling. Of the
# thresholds of Prechelt 1998 ("Early Stopping - But When?": 1 to 5 per cent) a low one: more passes
# are cheap.
FALLING = 0.02


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
        family = _Family(session, task)
        start = family.view(names[0])
        if task.recipe != "merge":
            return next_step(task, start, seen)
        branches, root = family.branches(tuple(name for name in names if name is not None))
        return next_step(task, start, seen, branches, root)

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


class _Family:
    """What the predecessors of a Worker left, as far as it may look: each is inspected once."""

    def __init__(self, session: Session, task: Assignment) -> None:
        self._session = session
        self._open = {name for left in task.predecessors for name in left.experiments}
        self._known: dict[str, WorkerExperimentView] = {}

    def view(self, name: str) -> WorkerExperimentView:
        """The experiment."""
        if name not in self._known:
            found = self._session.act("experiment.inspect", experiment=name)
            self._known[name] = cast(WorkerExperimentView, found)
        return self._known[name]

    def branches(self, names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        """Those that no other one continues, and the nearest that all of them continue."""
        chains = {name: self._chain(name) for name in names}
        inner = {one for chain in chains.values() for one in chain}
        tips = tuple(name for name in names if name not in inner)
        common = (one for one in chains[tips[0]] if all(one in chains[tip] for tip in tips))
        return tips, next(common, BASE)

    def _chain(self, name: str) -> tuple[str, ...]:
        """What it continues, nearest first, until the base or out of sight."""
        found: list[str] = []
        while name in self._open:
            name = self.view(name).init
            found.append(name)
        return tuple(found)


def next_recipe(
    task: Assignment, seen: list[WorkerExperimentView], rows: Callable[[], int]
) -> tuple[Recipe, str, str] | None:
    """The next training, or None when the Worker has nothing to add. Only a first training asks how
    many rows the data have: looking is recorded."""
    if not task.data:
        return None
    data = task.data[0]
    if not seen:
        return first_recipe(task, rows()), BASE, data
    done = [view for view in seen if view.lifecycle == "finished"]
    if not done:
        gentler = settings.gentler(seen[-1])
        return (gentler, BASE, data) if gentler is not None else None
    if len(seen) == 1:
        return {**seen[0].recipe, "learning_rate": _raised(seen[0].recipe)}, BASE, data
    return _longer(done, seen, data)


def first_recipe(task: Assignment, rows: int) -> Recipe:
    """Full weights, or an adapter for a large base; one pass, a rate from the size of the base.

    Batches are halved until a pass has enough updates, or they are small.
    """
    recipe = {"name": "sft", **settings.by_size(task.base_parameters), "epochs": FIRST_EPOCHS}
    recipe["learning_rate"] = rates.short(rates.customary(task.base_parameters))
    recipe["batch_size"] = _batch(rows, cast(int, recipe["batch_size"]))
    return recipe


def _batch(rows: int, size: int) -> int:
    while size > settings.SMALL_BATCH and rows < UPDATES * size:
        size //= 2
    return size


def _rows(session: Session, task: Assignment) -> int:
    """How many rows the data of the direction have."""
    pool = cast(PoolView, session.act("data.list"))
    return sum(one.rows for one in pool.datasets if one.id in task.data[:1])


def still_falling(view: WorkerExperimentView) -> bool:
    """Whether the mean loss of the last fifth lies clearly below that of the middle one: a schedule
    that ends at a rate of nought flattens every curve at its end."""
    losses = [point.loss for point in view.curve if point.loss is not None]
    fifth = max(1, len(losses) // 5)
    if len(losses) < 3 * fifth or not losses:
        return True
    middle = (len(losses) - fifth) // 2
    last = sum(losses[-fifth:]) / fifth
    before = sum(losses[middle : middle + fifth]) / fifth
    return last < before * (1 - FALLING)


def best_of(views: list[WorkerExperimentView]) -> WorkerExperimentView | None:
    """The finished, accepted experiment with the highest dev average; the earlier one of equals."""
    able = [view for view in views if view.integrity == "accepted" and value(view.dev) > NONE]
    return max(able, key=lambda view: value(view.dev), default=None)


def summary(task: Assignment, seen: list[WorkerExperimentView]) -> dict[str, object]:
    """A short account that cites the own experiments. Of a verification the best is the end of the
    lineage, if it got there."""
    best = best_of(seen[-1:] if task.purpose == "verify" else seen)
    if task.purpose == "verify" and replica(task, seen) is not None:
        best = None
    lines = [f"{task.direction}: {len(seen)} experiment{'s' if len(seen) != 1 else ''}."]
    for view in seen:
        dev = value(view.dev)
        score = f"dev {dev:.3f}" if dev > NONE else view.reason or view.lifecycle
        lines.append(f"{view.id[-8:]} {_settings(view.recipe)}: {score}.")
    if best is None:
        lines.append("There is no accepted checkpoint to name.")
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


def _raised(recipe: Recipe) -> float:
    return rates.short(rates.of(recipe) * rates.FACTOR)


def _settings(recipe: Recipe) -> str:
    told = ("name", "method", "learning_rate", "epochs", "steps", "rounds", "scale")
    return " ".join(f"{_SHORT.get(name, '')}{recipe[name]}" for name in told if recipe.get(name))


_SHORT = {"learning_rate": "lr ", "epochs": "epochs ", "steps": "steps ", "rounds": "rounds "}
