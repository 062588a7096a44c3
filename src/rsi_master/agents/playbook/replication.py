"""A verification: the lineage again, training by training, each on what the last one left; what
another verification trained under the same seed is taken from there."""

from collections.abc import Sequence

from rsi_master.core.experiment import BASE
from rsi_master.domains.planning.workers import Assignment
from rsi_master.domains.training.views import WorkerExperimentView

Arguments = dict[str, object]


def replica(task: Assignment, seen: Sequence[WorkerExperimentView]) -> tuple[str, Arguments] | None:
    """The next action and its arguments; None when all is trained, or when one has failed."""
    lacking = [step for step in task.lineage if step.again is None]
    if len(seen) >= len(lacking):
        return None
    if any(view.integrity != "accepted" or view.lifecycle != "finished" for view in seen):
        return None
    original = lacking[len(seen)]
    own = {BASE: BASE}
    own |= {step.experiment: step.again for step in task.lineage if step.again is not None}
    own |= {step.experiment: view.id for step, view in zip(lacking, seen, strict=False)}
    init, *others = (own[parent] for parent in original.parents)
    if others:
        merge: Arguments = {"recipe": original.recipe, "init": init, "others": tuple(others)}
        return "experiment.merge", merge
    fields = ("data", "demonstrations")
    training: Arguments = {"recipe": original.recipe, "init": init}
    training |= zip(fields, original.data, strict=False)
    return "experiment.submit", training
