"""The end of the research: the leaders are trained again on fresh seeds, the best is claimed."""

from itertools import product

from rsi_master.agents.playbook.board import Board, Move
from rsi_master.domains.control.overview import DirectionView


def promote(board: Board) -> tuple[Move, ...]:
    """Verifications as far as the limits allow, then the claim."""
    chosen = board.chosen()[: board.limits.promoted]
    verified = {
        (view.replicates, view.promotion)
        for view in board.overview.directions
        if view.purpose == "verify"
    }
    wanted = [
        (name, promotion)
        for promotion, name in product(range(board.limits.seeds), chosen)
        if (name, promotion) not in verified
    ]
    if wanted and board.limits.verifications:
        opened = wanted[: board.limits.verifying_now]
        return tuple(_verification(board, *one) for one in opened)
    if not chosen:
        return (_finish("the review shows no direction to beat the base"),)
    claimable = [c.claimable for c in board.ranking.candidates if c.claimable is not None]
    if not claimable:
        return (_finish("nothing could be verified on a fresh seed"),)
    return (Move("champion.claim", {"experiment": claimable[0]}),)


def _verification(board: Board, name: str, promotion: int) -> Move:
    owner = next(view.node for view in board.explored() if _owns(view, name))
    return Move(
        "worker.create",
        {
            "direction": f"verify {name[-8:]} on fresh seed {promotion + 1}",
            "hypothesis": "the result holds on a fresh seed",
            "task": "train the whole lineage again, unchanged, on a seed that the contract fixed",
            "purpose": "verify",
            "predecessors": (owner,),
            "replicates": name,
            "promotion": promotion,
        },
    )


def _owns(view: DirectionView, name: str) -> bool:
    return name in view.experiment_ids


def _finish(reason: str) -> Move:
    return Move("run.finish", {"reason": reason})
