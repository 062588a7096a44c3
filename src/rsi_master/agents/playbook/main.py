"""Main's playbook: explore what differs, have it reviewed, follow what leads, verify, claim."""

from typing import cast

from rsi_master.agents.playbook.board import Board, Move
from rsi_master.agents.playbook.exploring import LATER, USABLE, explore, refined
from rsi_master.agents.playbook.following import follow
from rsi_master.agents.playbook.promoting import promote
from rsi_master.core.errors import PolicyDenied
from rsi_master.core.turn import Ask
from rsi_master.domains.control.overview import OverviewView
from rsi_master.domains.data.actions import DatasetView, PoolView
from rsi_master.domains.planning.actions import PlacesView
from rsi_master.domains.training.sft import SFT
from rsi_master.expos.gateway import Session


class MainPlaybook:
    """Reads the board, takes its moves; nothing is remembered between turns."""

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        overview = cast(OverviewView, session.act("state.sync"))
        if not overview.directions:
            self._stock(session, overview.verifier)
        for move in decide(self._board(ask, session)):
            session.act(move.action, **with_data(session, move))

    def _stock(self, session: Session, verifier: bool) -> None:
        """Take every source, and leave out the answers that the verifier knows to be wrong, as far
        as the contract allows."""
        pool = cast(PoolView, session.act("data.list"))
        taken = {dataset.origin for dataset in pool.datasets}
        for source in pool.sources:
            if source not in taken and _made(session, "data.add", source=source) is None:
                break
        pool = cast(PoolView, session.act("data.list"))
        for dataset in refined(pool.datasets) if verifier else ():
            if dataset.holds == USABLE and not dataset.parents and not _cleaned(session, dataset):
                return

    def _board(self, ask: Ask, session: Session) -> Board:
        return Board(
            overview=cast(OverviewView, session.act("state.sync")),
            datasets=cast(PoolView, session.act("data.list")).datasets,
            ranking=cast(PlacesView, session.act("candidates.read")),
            limits=ask.limits,
        )


def decide(board: Board) -> tuple[Move, ...]:
    """Main's moves on a board. Pure.

    While there are means: directions on data not tried yet, then steps from the leader of the last
    review. What has ended is reviewed before the next leader is followed; what the review shows to
    be beaten is closed. Then the leaders are verified, and the best of them is claimed.
    """
    overview = board.overview
    if overview.claimed:
        return (finish("the claim is scored"),)
    if overview.claim is not None:
        return ()
    opened = () if board.limits.closing else explore(board) or follow(board)
    if opened:
        return (*closings(board), *opened)
    if board.busy():
        return ()
    if not board.able():
        return (finish(without_result(board)),)
    if overview.reviewer and board.unreviewed():
        return (review(board),)
    return (*closings(board), *promote(board))


def review(board: Board) -> Move:
    """A review of all that no review has weighed yet, and of what leads so far."""
    leader = board.leader()
    scope = [view.node for view in board.unreviewed()]
    if leader is not None and leader.node not in scope:
        scope.insert(0, leader.node)
    return Move(
        "review.request",
        {
            "question": (
                "Which direction's best experiment is really better on confirm, what may break the "
                "rules, and from which checkpoint should the research go on?"
            ),
            "scope": tuple(scope),
        },
    )


def closings(board: Board) -> tuple[Move, ...]:
    """Directions whose best experiment the last review shows to be beaten; the leader's stays."""
    report, leader = board.report(), board.leader()
    if report is None:
        return ()
    beaten = [view for view in board.able() if view.best in report.beaten]
    return tuple(
        Move(
            "direction.close",
            {
                "node": view.node,
                "reason": f"{report.node}: another direction is shown to be better",
            },
        )
        for view in beaten
        if view.status == "finalised" and view is not leader and view.best not in report.recommend
    )


def without_result(board: Board) -> str:
    """Why there is no checkpoint to go on with."""
    if board.explored():
        return "no direction gave an accepted checkpoint"
    if set(board.overview.recipes) <= LATER:
        allowed = ", ".join(board.overview.recipes)
        return f"the contract allows {allowed}, which need a model that {SFT.name} has taught"
    if not any(dataset.holds == USABLE for dataset in board.datasets):
        return f"no source holds {USABLE} with answers, which the playbook begins with"
    return "the means did not allow to try anything"


def finish(reason: str) -> Move:
    """The end of the research."""
    return Move("run.finish", {"reason": reason})


def with_data(session: Session, move: Move) -> dict[str, object]:
    """The arguments of a move; what it wants mixed is mixed if the contract still allows that."""
    if move.mixed:
        made = _made(session, "data.derive", datasets=move.mixed)
        if isinstance(made, DatasetView):
            return {**move.arguments, "data": (made.id,)}
    return move.arguments


def _cleaned(session: Session, dataset: DatasetView) -> bool:
    """Whether the contract allowed to filter a dataset."""
    return _made(session, "data.filter", dataset=dataset.id, verified=True) is not None


def _made(session: Session, action: str, **arguments: object) -> object | None:
    """What a data action answers; None where the data submissions of the contract are used up."""
    try:
        return session.act(action, **arguments)
    except PolicyDenied as denied:
        if denied.code != "SUBMISSIONS":
            raise
        return None
