"""Evaluations by the sealed process: one at a time, in a thread, each under a lease."""

from collections.abc import Callable
from concurrent.futures import Executor, Future

from rsi_master.core.canonical import encode
from rsi_master.core.errors import RsiError
from rsi_master.core.experiment import EvaluationRecorded
from rsi_master.core.ports import ObjectStore
from rsi_master.core.score import EvaluationResult
from rsi_master.expos.endings import EVALUATED
from rsi_master.expos.plant import Plant
from rsi_master.expos.tree import remove_tree


class Scoring:
    """What was asked of the sealed process by this owner, by attempt name."""

    def __init__(self, plant: Plant, executor: Executor, wake: Callable[[], None]) -> None:
        self._plant = plant
        self._executor = executor
        self._wake = wake
        self._under_way: dict[str, tuple[float, Future[EvaluationResult]]] = {}

    def begin(self, name: str, checkpoint: str, seconds: float) -> None:
        """Ask for the scores of a checkpoint by digest within so many seconds; takes a device."""
        self._plant.compute.lease(name)
        future = self._executor.submit(self._evaluate, name, checkpoint, seconds)
        self._under_way[name] = (self._plant.clock.monotonic(), future)

    def busy(self) -> bool:
        """Whether an evaluation is out: the sealed process takes one at a time."""
        return bool(self._under_way)

    def knows(self, name: str) -> bool:
        """Whether this owner asked for it."""
        return name in self._under_way

    def take(self, name: str) -> tuple[float, EvaluationResult | RsiError | None]:
        """The seconds since it was asked for, and the result, why there is none, or None while it
        is under way. A result is taken once."""
        begun, future = self._under_way[name]
        seconds = self._plant.clock.monotonic() - begun
        if not future.done():
            return seconds, None
        del self._under_way[name]
        problem = future.exception()
        if problem is None:
            return seconds, future.result()
        if not isinstance(problem, RsiError):
            raise problem
        return seconds, problem

    def _evaluate(self, name: str, checkpoint: str, seconds: float) -> EvaluationResult:
        folder = self._plant.scratch / name
        remove_tree(folder)
        try:
            self._plant.objects.materialise(checkpoint, folder)
            return self._plant.sealed.evaluate(name, folder, EVALUATED, seconds)
        finally:
            remove_tree(folder)
            self._plant.compute.release(name)
            self._wake()


def recorded(
    objects: ObjectStore, experiment: str, fence: int, result: EvaluationResult
) -> EvaluationRecorded:
    """The fact of a result; per-item verdicts become artifacts, one for each split."""
    outputs = {
        split: objects.put_bytes(
            "outputs", b"".join(encode(item.model_dump(mode="json")) + b"\n" for item in items)
        )
        for split, items in result.items.items()
    }
    return EvaluationRecorded(
        experiment=experiment,
        fence=fence,
        scores=result.scores,
        outputs=outputs,
        weights=result.weights,
        protocol=result.protocol,
    )
