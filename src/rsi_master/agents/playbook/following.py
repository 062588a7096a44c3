"""What to try next from the leader: each kind of step once, and no more before the next review."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rsi_master.agents.playbook.board import Board, Move, on_dev
from rsi_master.core.artifact import RowKind
from rsi_master.domains.control.overview import DirectionView

STEPS_A_REVIEW: Final = 3
"""Directions that are opened from one leader before they are weighed against it: as many as the
floor gives each of them experiments."""


@dataclass(frozen=True)
class Step:
    """A direction that continues others, on data that there are or that are to be mixed first."""

    recipe: str
    predecessors: tuple[str, ...]
    data: tuple[str, ...]
    direction: str
    hypothesis: str
    task: str
    mixed: tuple[str, ...] = ()

    def move(self, experiments: int) -> Move:
        """The action that opens it."""
        names = self.__dataclass_fields__.keys() - {"mixed"}
        arguments: dict[str, object] = {name: getattr(self, name) for name in names}
        return Move("worker.create", {**arguments, "experiments": experiments}, self.mixed)

    def is_like(self, view: DirectionView, board: Board) -> bool:
        """Whether a direction is this step, taken before."""
        same = (view.recipe, view.predecessors) == (self.recipe, self.predecessors)
        return same and set(view.data) in (set(self.data), {board.mixture(self.mixed)})


def follow(board: Board) -> tuple[Move, ...]:
    """The next steps from the leader, if a review has weighed it where there is a Reviewer."""
    leader = board.leader()
    if leader is None or (board.overview.reviewer and leader in board.unreviewed()):
        return ()
    taken = board.explored()
    waiting = [v for v in taken if leader.node in v.predecessors and _awaits(board, v)]
    free = min(board.limits.workers_now, STEPS_A_REVIEW - len(waiting))
    fresh = [s for s in steps(board, leader) if not any(s.is_like(v, board) for v in taken)]
    moves = [step.move(board.limits.experiments_each) for step in fresh[: max(0, free)]]
    return (*_reopened(leader), *moves) if moves else ()


def _reopened(leader: DirectionView) -> tuple[Move, ...]:
    """What leads again after it was closed is reopened before anything builds on it."""
    if leader.status != "closed":
        return ()
    return (Move("direction.reopen", {"node": leader.node, "reason": "it leads again"}),)


def steps(board: Board, leader: DirectionView) -> Iterator[Step]:
    """Every kind of step from the leader, the customary order of post-training: more supervision by
    the same data and by the best others, own samples, the rest of the data, preferences, rewards,
    and at last what joins branches."""
    able = {name for name in board.overview.recipes if name == "merge" or _fed(board, name)}
    rows = _rows(board, leader)
    if "sft" in able and rows:
        yield _continued(leader, rows)
    if "sft" in able:
        yield from itertools.islice(_other_data(board, leader), 1)
    if "rejection" in able:
        yield _own_samples(board, leader, rows)
    if "sft" in able:
        yield from itertools.islice(_other_data(board, leader), 1, None)
    if "dpo" in able:
        yield _preferences(board, leader)
    if "grpo" in able:
        yield _rewards(board, leader)
    if "merge" in able:
        yield from _joined(board, leader)


def _fed(board: Board, recipe: str) -> bool:
    """Whether there is data, and where it is needed a verifier, for a recipe."""
    kinds: dict[str, RowKind] = {
        "sft": "rows",
        "dpo": "pairs",
        "grpo": "prompts",
        "rejection": "prompts",
    }
    kind = kinds.get(recipe)
    if kind == "prompts" and not board.overview.verifier:
        return False
    return any(dataset.holds == kind for dataset in board.datasets)


def _awaits(board: Board, view: DirectionView) -> bool:
    """Whether a direction is at work, or has still to be weighed by a Reviewer that there is."""
    return view.status == "active" or (board.overview.reviewer and view in board.unreviewed())


def _continued(leader: DirectionView, data: tuple[str, ...]) -> Step:
    return Step(
        recipe="sft",
        predecessors=(leader.node,),
        data=data,
        direction=f"continue {leader.node} with smaller steps",
        hypothesis="the best checkpoint is not at the end of what its data teach",
        task="continue the best checkpoint of the predecessor on its data, at a lower rate",
    )


def _own_samples(board: Board, leader: DirectionView, demonstrations: tuple[str, ...]) -> Step:
    prompts = _of_kind(board, "prompts")
    return Step(
        recipe="rejection",
        predecessors=(leader.node,),
        data=(prompts, *demonstrations),
        direction=f"own right answers from {leader.node}",
        hypothesis="answers that the model finds itself and the verifier accepts teach more",
        task="sample answers from the best checkpoint, keep the right ones, train on them",
    )


def _other_data(board: Board, leader: DirectionView) -> Iterator[Step]:
    """The data of the other directions from the base, best on dev first, mixed with the leader's
    own: what is learnt alone is learnt at the cost of what was known (replay, as in arXiv
    2403.08763)."""
    others = [v for v in board.able() if not v.predecessors and v.node != leader.node]
    own, known = _rows(board, leader), board.ingredients(leader)
    for view in sorted(others, key=on_dev, reverse=True):
        rows = _rows(board, view)
        if rows and not set(rows) & known:
            yield Step(
                recipe="sft",
                predecessors=(leader.node,),
                data=rows,
                mixed=(*own, *rows) if own else (),
                direction=f"{leader.node} goes on with the data of {view.node}",
                hypothesis="the data of another direction teach what those of the leader do not",
                task="continue the best checkpoint of the predecessor on other data as well",
            )


def _preferences(board: Board, leader: DirectionView) -> Step:
    return Step(
        recipe="dpo",
        predecessors=(leader.node,),
        data=(_of_kind(board, "pairs"),),
        direction=f"preferences after {leader.node}",
        hypothesis="pairs of better and worse answers correct what supervision leaves",
        task="train the best checkpoint of the predecessor on preference pairs",
    )


def _rewards(board: Board, leader: DirectionView) -> Step:
    return Step(
        recipe="grpo",
        predecessors=(leader.node,),
        data=(_of_kind(board, "prompts"),),
        direction=f"rewards after {leader.node}",
        hypothesis="the model is right at times, and the verifier's reward makes it so more often",
        task="reinforce the best checkpoint of the predecessor by the open verifier",
    )


def _joined(board: Board, leader: DirectionView) -> Iterator[Step]:
    """The leader and what branched off beside it from the same checkpoint."""
    beside = [
        view.node
        for view in board.able()
        if view.predecessors and view.predecessors == leader.predecessors and view is not leader
        if view.status != "closed"
    ]
    if beside:
        yield Step(
            recipe="merge",
            predecessors=(leader.node, *beside[:3], *leader.predecessors),
            data=(),
            direction=f"join {leader.node} and {', '.join(beside[:3])}",
            hypothesis="branches of one checkpoint that learnt different things add up",
            task="merge the best checkpoints of the predecessors",
        )


def _rows(board: Board, view: DirectionView) -> tuple[str, ...]:
    """The dataset of worked rows of a direction, if it has one."""
    return tuple(d.id for d in board.origins(view) if d.holds == "rows")[:1]


def _of_kind(board: Board, kind: RowKind) -> str:
    """The largest dataset of a kind."""
    return max((d for d in board.datasets if d.holds == kind), key=lambda d: (d.rows, d.id)).id
