"""What the roles see, by short constructors: limits, directions, pools, tasks, experiments."""

from collections.abc import Sequence
from typing import Final

from rsi_master.core.artifact import RowKind
from rsi_master.core.turn import Limits
from rsi_master.domains.control.overview import DirectionView, OverviewView, ReviewView
from rsi_master.domains.data.actions import DatasetView
from rsi_master.domains.planning.workers import Assignment
from rsi_master.domains.training.curve import Point
from rsi_master.domains.training.views import WorkerExperimentView
from rsi_master.testing import tape

LIMITS: Final = Limits(
    directions=2,
    workers_now=2,
    verifying_now=2,
    experiments_each=3,
    verifications=5,
    promoted=2,
    seeds=1,
    closing=False,
)
NOTHING: Final = OverviewView(
    target="add",
    reviewer=True,
    sources=(),
    recipes=("sft",),
    verifier=False,
    base_dev=None,
    directions=(),
    reviews=(),
    guidance=(),
    claim=None,
    claimed=False,
)


def pool(word: str, kind: RowKind = "rows", chars: float = 10) -> DatasetView:
    """A dataset of a hundred rows, named by a word."""
    return DatasetView(
        id=tape.digest(word),
        origin=word,
        parents=(),
        holds=kind,
        rows=100,
        dropped="none",
        mean_prompt_chars=10,
        mean_completion_chars=chars,
    )


def direction(node: str, best: str | None, dev: float = 0.5, **more: object) -> DirectionView:
    """A finalised exploration with one experiment, its best."""
    return DirectionView.model_validate(
        {
            "node": node,
            "direction": "a direction",
            "purpose": "explore",
            "predecessors": (),
            "recipe": None,
            "replicates": None,
            "promotion": 0,
            "data": (tape.digest(node),),
            "status": "finalised",
            "experiment_ids": (best,) if best else (),
            "finished": 1,
            "summary": "",
            "best": best,
            "best_dev": tape.scored("dev", dev) if best else None,
            **more,
        }
    )


def review(
    *recommend: str,
    scope: tuple[str, ...] = ("w1", "w2"),
    status: str = "reported",
    beaten: tuple[str, ...] = (),
) -> ReviewView:
    """A review of Workers and what it recommends."""
    return ReviewView(
        node=f"r{len(scope)}",
        scope=scope,
        status=status,
        recommend=recommend,
        beaten=beaten,
        recommendation="",
    )


def assignment(**more: object) -> Assignment:
    """A Worker's task of three experiments from the base."""
    return Assignment.model_validate(
        {
            "node": "w1",
            "direction": "a direction",
            "hypothesis": "it helps",
            "task": "try it",
            "purpose": "explore",
            "predecessors": (),
            "data": (),
            "recipe": None,
            "replicates": None,
            "lineage": (),
            "experiments": (),
            "running": 0,
            "left": 3,
            "practice": 0,
            "probes": 0,
            "base_parameters": 453_088,
            "base_dev": None,
            **more,
        }
    )


def experiment(
    name: str,
    recipe: dict[str, object],
    dev: float | None = 0.5,
    losses: Sequence[float] = (1.0,),
    **more: object,
) -> WorkerExperimentView:
    """A finished experiment with its curve; one that did not finish has no score."""
    view = {
        "id": name,
        "worker": "w1",
        "lifecycle": "finished",
        "integrity": "accepted",
        "reason": "",
        "detail": "",
        "recipe": recipe,
        "init": "base",
        "merges": (),
        "data": (),
        "dev": tape.scored("dev", dev),
        "curve": tuple(Point(step=n, loss=loss) for n, loss in enumerate(losses)),
        "log": "",
        "device_seconds": 1.0,
        **more,
    }
    if view["lifecycle"] != "finished":
        view["dev"] = None
    return WorkerExperimentView.model_validate(view)
