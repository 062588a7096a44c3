"""Jobs that actions wait for: begun when a device is free, asked after in each tick, and handed
over in a thread of their own when they have ended."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rsi_master.core.errors import RsiError
from rsi_master.core.job import JobStatus
from rsi_master.core.text import clean
from rsi_master.expos.harvest import LOG_BYTES, tail, whole
from rsi_master.expos.making import Made, Order, job_name
from rsi_master.expos.plant import Plant
from rsi_master.expos.tree import remove_tree
from rsi_master.expos.waiting import Waiting

STOPPED = "the owner of the run was stopped"
FULL = "the disk that holds the run is full; free it, then ask again"
LEAST_BYTES = 1 << 20

Out = Waiting[Order, Made]


class Maker:
    """The engine's end of the queue of orders. `tick` and `close` belong to the engine's thread.

    A job that was out when an owner died goes with it: its intent is still open then, by which its
    folder is found and removed.
    """

    def __init__(self, plant: Plant, wake: Callable[[], None]) -> None:
        self._plant = plant
        self._readers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="making")
        self._wake = wake
        self._running: dict[str, tuple[Out, float]] = {}
        self._ending: set[str] = set()
        for intent in plant.state.intents:
            remove_tree(plant.compute.output(job_name(intent)).parent)
        plant.making.serve(wake)

    def busy(self) -> bool:
        """Whether a job is out, or what it left is not told yet."""
        return bool(self._running or self._ending)

    def begin(self) -> None:
        """Begin the orders that wait, as far as devices for them are free."""
        while (waiting := self._plant.making.take(self._has_room)) is not None:
            try:
                self._plant.compute.submit(waiting.asked.job)
            except RsiError as problem:
                waiting.told.set_exception(problem)
            except BaseException as problem:
                waiting.told.set_exception(problem)
                raise
            else:
                begun = self._plant.clock.monotonic()
                self._running[waiting.asked.job.name] = (waiting, begun)

    def poll(self) -> None:
        """Have the jobs that ended handed over."""
        for name in list(self._running):
            status = self._status(name)
            if status.state == "ended":
                waiting, _ = self._running.pop(name)
                self._ending.add(name)
                self._readers.submit(self._hand_over, waiting, status)

    def cancel(self) -> None:
        """Kill every job that is out; its end is told by a later `poll`."""
        for name in self._running:
            self._plant.compute.cancel(name)

    def close(self) -> None:
        """Let nobody in any more, end what is out and tell it."""
        self._plant.making.close()
        self.cancel()
        self._plant.await_end(self._running)
        for name in list(self._running):
            status = self._status(name)
            waiting, _ = self._running.pop(name)
            remove_tree(self._plant.compute.output(name).parent)
            ended = {"state": "ended", "ending": status.ending or "interrupted"}
            waiting.told.set_result(Made(status.model_copy(update=ended), problem=STOPPED))
        self._readers.shutdown(wait=True)

    def _has_room(self, order: Order) -> bool:
        job = order.job
        return self._plant.compute.free_devices(job.job_class) >= job.resources.devices

    def _status(self, name: str) -> JobStatus:
        """What the engine says; a job that it lost has ended. Never more seconds than reserved."""
        waiting, begun = self._running[name]
        status = self._plant.compute.poll(name)
        seconds = status.seconds
        if status.state == "unknown":
            lost = {"state": "ended", "ending": "lost", "detail": "the engine does not know it"}
            status = status.model_copy(update=lost)
            seconds = self._plant.clock.monotonic() - begun
        seconds = min(max(0.0, seconds), waiting.asked.seconds)
        return status.model_copy(update={"seconds": seconds})

    def _hand_over(self, waiting: Out, status: JobStatus) -> None:
        """Read what is wanted and remove the folder; whatever happens is told."""
        name = waiting.asked.job.name
        try:
            made = self._made(waiting.asked, status)
        except BaseException as problem:
            waiting.told.set_exception(problem)
            raise
        finally:
            remove_tree(self._plant.compute.output(name).parent)
            self._ending.discard(name)
            self._wake()
        waiting.told.set_result(made)

    def _made(self, order: Order, status: JobStatus) -> Made:
        """The output of a job that is gone with its whole process tree."""
        out = self._plant.compute.output(order.job.name)
        log = tail(out / "log.txt", LOG_BYTES)
        if status.ending != "ok":
            problem = clean(f"the job ended {status.ending}: {status.detail}")
            return Made(status, log=log, problem=FULL if _full(out) else problem)
        try:
            files = {name: whole(out / name, limit) for name, limit in order.wanted.items()}
        except RsiError as refusal:
            return Made(status, log=log, problem=refusal.message)
        return Made(status, files, log)


def _full(out: Path) -> bool:
    """Whether too little is left on its disk for anything to be written."""
    return out.exists() and shutil.disk_usage(out).free < LEAST_BYTES
