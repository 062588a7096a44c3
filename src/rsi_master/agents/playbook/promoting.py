"""The end of the research: the leaders are trained again on fresh seeds, the best is claimed."""

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from rsi_master.agents.playbook.board import Board, Move
from rsi_master.domains.control.overview import DirectionView

Wanted: TypeAlias = tuple[str, int]
"""An experiment to verify, and the number of the fresh seed."""


def promote(board: Board) -> tuple[Move, ...]:
    """Verifications as far as the limits allow, a review of them, then the claim."""
    chosen = board.chosen()[: board.limits.promoted]
    done = _verified(board)
    wanted = [one for one in product(chosen, range(board.limits.seeds)) if one not in done]
    if wanted and board.limits.verifications:
        ready = [one for one in wanted if not _waits(board, one, chosen, done)]
        return tuple(_verification(board, *one) for one in ready[: board.limits.verifying_now])
    if not chosen:
        return (_finish("the review shows no direction to beat the base"),)
    claimable = [c.claimable for c in board.ranking.candidates if c.claimable is not None]
    if not claimable:
        return (_finish("nothing could be verified on a fresh seed"),)
    if board.overview.reviewer and board.unweighed():
        return (_review(board),)
    verdict = board.verdict()
    if verdict is not None and not verdict.recommend:
        return (_finish(f"{verdict.node}: no verification is shown to beat the base"),)
    return (Move("champion.claim", {"experiment": claimable[0]}),)


def _verified(board: Board) -> set[Wanted]:
    """Experiments with the numbers of the seeds that they were trained again under, by a
    verification of their own or on the way to another one."""
    found: set[Wanted] = set()
    for view in board.verifications():
        found.add((str(view.replicates), view.promotion))
        for place in board.ranking.candidates:
            if set(place.experiments) & set(view.experiment_ids):
                found |= {(name, view.promotion) for name in place.experiments}
    return found


def _waits(board: Board, one: Wanted, chosen: Sequence[str], done: set[Wanted]) -> bool:
    """Whether one before it has trainings in common with it that are still to be repeated under the
    same seed: they are trained once for both."""
    name, promotion = one
    own = _branch(board, name)
    before = chosen[: chosen.index(name)]
    return any((other, promotion) not in done and own & _branch(board, other) for other in before)


def _branch(board: Board, name: str) -> set[str]:
    """The direction of an experiment and all that it continues."""
    known = {view.node: view for view in board.explored()}
    open_ = [_owner(board, name).node]
    found: set[str] = set()
    while open_:
        node = open_.pop()
        if node in known and node not in found:
            found.add(node)
            open_ += known[node].predecessors
    return found


def _verification(board: Board, name: str, promotion: int) -> Move:
    owner = _owner(board, name).node
    beside = (
        view.node
        for view in board.verifications()
        if view.promotion == promotion and view.status != "active"
    )
    return Move(
        "worker.create",
        {
            "direction": f"verify {name[-8:]} on fresh seed {promotion + 1}",
            "hypothesis": "the result holds on a fresh seed",
            "task": "train the whole lineage again, unchanged, on a seed that the contract fixed",
            "purpose": "verify",
            "predecessors": (owner, *beside),
            "replicates": name,
            "promotion": promotion,
        },
    )


def _review(board: Board) -> Move:
    return Move(
        "review.request",
        {
            "question": (
                "On fresh seeds, is it still better than the base on confirm, and does "
                "anything speak against the claim?"
            ),
            "scope": tuple(view.node for view in board.verifications() if view.best is not None),
        },
    )


def _owner(board: Board, name: str) -> DirectionView:
    return next(view for view in board.explored() if name in view.experiment_ids)


def _finish(reason: str) -> Move:
    return Move("run.finish", {"reason": reason})
