"""Settings by the size of a base, and what is changed after a training that failed."""

from typing import Final, cast

from rsi_master.agents.playbook import rates
from rsi_master.domains.training.views import WorkerExperimentView

Recipe = dict[str, object]

ADAPTER_FROM: Final = 50_000_000
"""From about here on a batch of 32 rows takes more memory than a job gets (measured at 134.5
million parameters: 7 GB, of 8 rows 3.3 GB), so that batches are small. Weights are trained through
an adapter (LoRA, arXiv 2106.09685), customary for pre-trained models; it saves little else here."""
BATCH: Final = 32
SMALL_BATCH: Final = 8

TOO_FAST: Final = frozenset({"DIVERGED", "NOT_FINITE", "NO_CHANGE", "TIMEOUT"})
"""How a training ends that a gentler one may survive."""
MEMORY: Final = frozenset({"CRASHED", "INFRASTRUCTURE"})
"""How an experiment ends whose job got no more memory: it raised, or the kernel killed each try."""


def by_size(size: int | None) -> Recipe:
    """Full weights in customary batches, or an adapter in small ones for a large base."""
    if size and size >= ADAPTER_FROM:
        return {"method": "lora", "batch_size": SMALL_BATCH}
    return {"method": "full", "batch_size": BATCH}


def gentler(failed: WorkerExperimentView) -> Recipe | None:
    """The same recipe at a third of the rate, and in half the batch where memory may have been
    short; None where another rate cannot help: the data or the checkpoint have to be others."""
    recipe = dict(failed.recipe)
    if failed.reason not in TOO_FAST | MEMORY or "learning_rate" not in recipe:
        return None
    recipe["learning_rate"] = rates.short(rates.of(recipe) / rates.FACTOR)
    if failed.reason in MEMORY and "batch_size" in recipe:
        recipe["batch_size"] = max(1, cast(int, recipe["batch_size"]) // 2)
    return recipe
