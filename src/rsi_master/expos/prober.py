"""Probes by the sealed process: in turns with evaluations, since it generates one thing at a time,
each under a lease."""

from collections.abc import Callable
from concurrent.futures import Executor, Future

from rsi_master.core.errors import RsiError
from rsi_master.core.probe import ProbeResult
from rsi_master.expos.plant import Plant
from rsi_master.expos.probing import Probe, Probed
from rsi_master.expos.tree import remove_tree
from rsi_master.expos.waiting import Waiting


class Prober:
    """The engine's end of the queue: carries out one probe at a time in the executor of sealed
    work."""

    def __init__(self, plant: Plant, executor: Executor, wake: Callable[[], None]) -> None:
        self._plant = plant
        self._executor = executor
        self._wake = wake
        self._under_way: Future[None] | None = None
        plant.probing.serve(wake)

    def busy(self) -> bool:
        """Whether a probe is out: the sealed process takes one thing at a time."""
        return self._under_way is not None and not self._under_way.done()

    def begin(self) -> None:
        """Begin the next probe, if one waits and a device is free."""
        compute = self._plant.compute
        if self.busy() or compute.free_devices() < 1:
            return
        waiting = self._plant.probing.take()
        if waiting is not None:
            compute.lease(waiting.asked.name)
            self._under_way = self._executor.submit(self._carry_out, waiting)

    def _carry_out(self, waiting: Waiting[Probe, Probed]) -> None:
        """Whatever happens is told to the one who waits."""
        probe, clock = waiting.asked, self._plant.clock
        begun = clock.monotonic()
        try:
            found = self._answers(probe)
            probed = Probed(found.seconds, found)
        except RsiError as problem:
            probed = Probed(min(clock.monotonic() - begun, probe.seconds), problem)
        except BaseException as problem:
            waiting.told.set_exception(problem)
            raise
        finally:
            self._plant.compute.release(probe.name)
            self._wake()
        waiting.told.set_result(probed)

    def _answers(self, probe: Probe) -> ProbeResult:
        folder = self._plant.scratch / probe.name
        remove_tree(folder)
        try:
            self._plant.objects.materialise(probe.checkpoint, folder)
            return self._plant.sealed.probe(probe.name, folder, probe.window, probe.seconds)
        finally:
            remove_tree(folder)
