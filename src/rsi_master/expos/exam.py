"""The opening of the holdout: signed, counted by the sealed process, scored once."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass

from rsi_master.core.action import Amounts
from rsi_master.core.errors import Broken, RsiError, SealUnavailable
from rsi_master.core.run import ClaimFailed, ClaimOpened, ClaimScored
from rsi_master.core.score import ClaimResult
from rsi_master.expos.plant import Plant
from rsi_master.expos.tree import remove_tree

OPENED = 2


@dataclass(frozen=True)
class Pair:
    """Digests of the two checkpoints that an opening scores, and of the champion's tensors."""

    champion: str
    base: str
    weights: str


class Exam:
    """Runs one opening in the executor of sealed work."""

    def __init__(self, plant: Plant, executor: Executor, wake: Callable[[], None]) -> None:
        self._plant = plant
        self._executor = executor
        self._wake = wake
        self._under_way: Future[ClaimResult] | None = None
        self._tried = 0
        self._begun = self._seconds = 0.0

    def advance(
        self, claim: ClaimOpened, pair: Pair, begin: bool
    ) -> ClaimScored | ClaimFailed | None:
        """Begin the opening, or its outcome once there is one. A sealed process that died is asked
        again under the same name, which is the same opening."""
        if self._under_way is None:
            if begin and self._plant.compute.free_devices() > 0:
                self._plant.compute.lease(claim.name)
                self._plant.ledger.note()
                self._tried += 1
                self._begun = self._plant.clock.monotonic()
                self._under_way = self._executor.submit(self._open, claim.name, pair)
            return None
        if not self._under_way.done():
            return None
        future, self._under_way = self._under_way, None
        self._seconds += self._plant.clock.monotonic() - self._begun
        problem = future.exception()
        if problem is None and future.result().weights != pair.weights:
            problem = Broken("OTHER_WEIGHTS", "the weights that were scored are not the champion's")
        if problem is None:
            result = future.result()
            spent = Amounts(device_seconds=self._seconds, evaluations=OPENED)
            return ClaimScored(
                experiment=claim.experiment, name=claim.name, result=result, spent=spent
            )
        tries = self._plant.contract.policy.attempts_per_experiment
        if isinstance(problem, SealUnavailable) and self._tried < tries:
            return None
        if not isinstance(problem, RsiError):
            raise problem
        return ClaimFailed(
            experiment=claim.experiment,
            name=claim.name,
            reason=problem.message,
            spent=Amounts(device_seconds=self._seconds),
        )

    def _open(self, name: str, pair: Pair) -> ClaimResult:
        laid = self._plant.scratch / name
        remove_tree(laid)
        try:
            laid.mkdir(parents=True)
            self._plant.objects.materialise(pair.champion, laid / "champion")
            self._plant.objects.materialise(pair.base, laid / "base")
            return self._plant.sealed.claim(name, laid / "champion", laid / "base", self._left())
        finally:
            remove_tree(laid)
            self._plant.compute.release(name)
            self._wake()

    def _left(self) -> float:
        """Seconds of the claim's reservation that former tries have not used."""
        return max(1.0, self._plant.state.costs.claim.device_seconds - self._seconds)
