"""Directions from the base: each pool of worked rows, those first that differ most in style."""

from typing import Final

from rsi_master.agents.playbook.board import Board, Move
from rsi_master.core.artifact import RowKind
from rsi_master.core.turn import Limits
from rsi_master.domains.data.actions import DatasetView
from rsi_master.domains.training.sft import SftSpec

USABLE: Final[RowKind] = SftSpec.takes
"""A base is first taught by showing (InstructGPT, arXiv 2203.02155): what else there is needs a
model that is right at times."""

LATER: Final = frozenset({"dpo", "grpo", "rejection", "merge"})
"""Ways to train that need such a model."""


def explore(board: Board) -> tuple[Move, ...]:
    """The usable data not tried yet, as far as the limits allow, if the contract lets teach by
    showing."""
    if set(board.overview.recipes) <= LATER:
        return ()
    tried = {digest for view in board.overview.directions for digest in view.data}
    first = [view for view in board.explored() if not view.predecessors]
    free = min(board.limits.workers_now, board.limits.directions - len(first))
    usable = tuple(one for one in refined(board.datasets) if one.holds == USABLE and _plain(one))
    fresh = [dataset for dataset in by_contrast(usable) if dataset.id not in tried]
    return tuple(_direction(dataset, board.limits) for dataset in fresh[: max(0, free)])


def refined(datasets: tuple[DatasetView, ...]) -> tuple[DatasetView, ...]:
    """The datasets without those that a filter left a part of, which stands for them."""
    replaced = {one.parents for one in datasets if one.parents != (one.id,)}
    return tuple(one for one in datasets if (one.id,) not in replaced)


def _plain(dataset: DatasetView) -> bool:
    """Whether it is no mixture: those are for what leads."""
    return len(dataset.parents) < 2


def by_contrast(datasets: tuple[DatasetView, ...]) -> list[DatasetView]:
    """Longest answers, shortest answers, next longest, and so on: extremes of style come first."""
    rest = sorted(datasets, key=lambda d: (d.mean_completion_chars, d.id))
    order: list[DatasetView] = []
    while rest:
        order.append(rest.pop(-1 if len(order) % 2 == 0 else 0))
    return order


def _direction(dataset: DatasetView, limits: Limits) -> Move:
    return Move(
        "worker.create",
        {
            "direction": f"fine-tune on {dataset.origin}",
            "hypothesis": (
                f"{dataset.rows} rows of {dataset.origin}, {dataset.mean_completion_chars:g} "
                "characters an answer, teach the target better than the other pools"
            ),
            "task": "find the best supervised recipe on this data, starting from the base",
            "data": (dataset.id,),
            "experiments": limits.experiments_each,
        },
    )
