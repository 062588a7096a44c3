"""What a training is, apart from its seed: its effective digest over the lineage, its family."""

from collections.abc import Sequence
from typing import Final

from rsi_master.core.experiment import BASE
from rsi_master.core.recipe import RecipeSpec, effective_digest
from rsi_master.core.state import State
from rsi_master.domains.training.merge import MergeSpec

OWN_LINEAGE: Final = "own lineage"
"""The origin of what a merge is made of."""


def effective(state: State, spec: RecipeSpec, parents: Sequence[str], data: Sequence[str]) -> str:
    """Equal for two trainings that differ in seeds only, also along their lineage, and for two
    merges that differ in an order that has no effect: of all parts for the mean, otherwise of all
    but the first."""
    keys = [lineage_key(state, parent) for parent in parents]
    if isinstance(spec, MergeSpec) and spec.method == "linear":
        keys.sort()
    first, *others = keys
    return effective_digest(spec, first, (*data, *sorted(others)))


def lineage_key(state: State, init: str) -> str:
    """`base`, or the effective digest of the experiment that is continued."""
    if init == BASE:
        return BASE
    known = state.experiments.get(init)
    return known.queued.effective if known and known.queued else init


def family(spec: RecipeSpec, origin: str) -> str:
    """Kind of data source, objective, parametrisation: what directions are measured by."""
    return f"{origin} · {spec.objective} · {spec.parametrisation()}"
