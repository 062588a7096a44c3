"""Main's playbook: open directions that differ, have them reviewed, verify what the review says,
claim, finish."""

from dataclasses import dataclass
from typing import Final, cast

from rsi_master.core.artifact import RowKind
from rsi_master.core.score import Scored
from rsi_master.core.turn import Ask, Limits
from rsi_master.domains.control.overview import DirectionView, OverviewView, ReviewView
from rsi_master.domains.data.actions import DatasetView, PoolView
from rsi_master.domains.planning.actions import PlacesView
from rsi_master.domains.training.sft import SftSpec
from rsi_master.expos.gateway import Session

# The Workers of this playbook fine-tune under supervision and know nothing else.
USABLE: Final[RowKind] = SftSpec.takes


@dataclass(frozen=True)
class Move:
    """One action that Main takes."""

    action: str
    arguments: dict[str, object]


@dataclass(frozen=True)
class Board:
    """All that Main decides from."""

    overview: OverviewView
    datasets: tuple[DatasetView, ...]
    ranking: PlacesView
    limits: Limits


class MainPlaybook:
    """Reads the board, takes its moves; nothing is remembered between turns."""

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        pool = cast(PoolView, session.act("data.list"))
        taken = {dataset.origin for dataset in pool.datasets}
        if not cast(OverviewView, session.act("state.sync")).directions:
            for source in pool.sources:
                if source not in taken:
                    session.act("data.add", source=source)
        for move in decide(self._board(ask, session)):
            session.act(move.action, **move.arguments)

    def _board(self, ask: Ask, session: Session) -> Board:
        return Board(
            overview=cast(OverviewView, session.act("state.sync")),
            datasets=cast(PoolView, session.act("data.list")).datasets,
            ranking=cast(PlacesView, session.act("candidates.read")),
            limits=ask.limits,
        )


def decide(board: Board) -> tuple[Move, ...]:
    """Main's moves on a board. Pure."""
    overview, limits = board.overview, board.limits
    active = [view for view in overview.directions if view.status == "active"]
    if overview.claimed:
        return (_finish("the claim is scored"),)
    if overview.claim is not None:
        return ()
    if not limits.closing:
        opened = _open_directions(board)
        if opened:
            return opened
    if active or any(review.status == "active" for review in overview.reviews):
        return ()
    return _after_exploring(board)


def _open_directions(board: Board) -> tuple[Move, ...]:
    """The usable data not tried yet, those first that differ most in what they teach."""
    tried = {digest for view in board.overview.directions for digest in view.data}
    exploring = [view for view in board.overview.directions if view.purpose == "explore"]
    free = min(board.limits.workers_now, board.limits.directions - len(exploring))
    usable = tuple(dataset for dataset in board.datasets if dataset.holds == USABLE)
    fresh = [dataset for dataset in _by_contrast(usable) if dataset.id not in tried]
    return tuple(_direction(dataset, board.limits) for dataset in fresh[: max(0, free)])


def _by_contrast(datasets: tuple[DatasetView, ...]) -> list[DatasetView]:
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


def _after_exploring(board: Board) -> tuple[Move, ...]:
    overview = board.overview
    explored = [view for view in overview.directions if view.purpose == "explore"]
    able = [view for view in explored if view.best is not None]
    if not able:
        return (_finish("no direction gave an accepted checkpoint"),)
    if overview.reviewer and not overview.reviews:
        return (_review(able),)
    wanted = _to_verify(board, able)
    verified = {view.replicates for view in overview.directions if view.purpose == "verify"}
    open_ = [name for name in wanted if name not in verified][: board.limits.workers_now]
    if open_ and board.limits.verifications:
        return tuple(_verification(overview, name) for name in open_)
    if not wanted:
        return (_finish("the review shows no direction to beat the base"),)
    claimable = [c.claimable for c in board.ranking.candidates if c.claimable is not None]
    if not claimable:
        return (_finish("nothing could be verified on a fresh seed"),)
    return (Move("champion.claim", {"experiment": claimable[0]}),)


def _to_verify(board: Board, able: list[DirectionView]) -> tuple[str, ...]:
    """What the review recommends; without a Reviewer, the best on dev."""
    by_dev = [view.best for view in sorted(able, key=_dev, reverse=True) if view.best is not None]
    report = _last_report(board.overview)
    if report is None:
        return tuple(by_dev[:1])
    return report.recommend


def _last_report(overview: OverviewView) -> ReviewView | None:
    reported = [review for review in overview.reviews if review.status == "reported"]
    return reported[-1] if reported else None


def _review(able: list[DirectionView]) -> Move:
    return Move(
        "review.request",
        {
            "question": (
                "Which direction's best experiment is really better on confirm, what may break the "
                "rules, and which recipe should be trained again on a fresh seed?"
            ),
            "scope": tuple(view.node for view in able),
        },
    )


def _verification(overview: OverviewView, name: str) -> Move:
    owner = next(view.node for view in overview.directions if _owns(view, name))
    return Move(
        "worker.create",
        {
            "direction": f"verify {name[-8:]}",
            "hypothesis": "the result holds on a fresh seed",
            "task": "train the recipe again, unchanged, on the seed that the contract fixed",
            "purpose": "verify",
            "predecessors": (owner,),
            "replicates": name,
            "experiments": 1,
        },
    )


def _owns(view: DirectionView, name: str) -> bool:
    return view.purpose == "explore" and name in view.experiment_ids


def _finish(reason: str) -> Move:
    return Move("run.finish", {"reason": reason})


def _dev(view: DirectionView) -> float:
    score = view.best_dev
    return score.average.value if score and isinstance(score.average, Scored) else -1.0
