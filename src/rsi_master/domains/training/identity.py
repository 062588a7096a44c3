"""What a training is, apart from its seed: its effective digest over the lineage, its family."""

from collections.abc import Sequence

from rsi_master.core.dataset import DatasetRegistered
from rsi_master.core.experiment import BASE
from rsi_master.core.recipe import RecipeSpec, effective_digest
from rsi_master.core.state import State


def effective(state: State, spec: RecipeSpec, init: str, data: Sequence[str]) -> str:
    """Equal for two trainings that differ in seeds only, also along their lineage."""
    return effective_digest(spec, lineage_key(state, init), data)


def lineage_key(state: State, init: str) -> str:
    """`base`, or the effective digest of the experiment that is continued."""
    if init == BASE:
        return BASE
    known = state.experiments.get(init)
    return known.queued.effective if known and known.queued else init


def family(spec: RecipeSpec, dataset: DatasetRegistered) -> str:
    """Kind of data source, objective, parametrisation: what directions are measured by."""
    return f"{dataset.source.origin} · {spec.objective} · {spec.parametrisation()}"
