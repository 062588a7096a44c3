"""The one thread that starts warm parents, hands them jobs, hears how they went, enforces limits.

It alone changes an `Attempt`; other threads send it commands. It never retries a job: a warm
parent that died is started again for the next job, its own jobs are lost. A job of class `code` has
a cold process to itself, which ends with it.
"""

import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from rsi_master.adapters.compute.attempt import Attempt
from rsi_master.adapters.compute.beside import beside
from rsi_master.adapters.compute.devices import is_gpu
from rsi_master.adapters.sandbox.parent import Parent
from rsi_master.core.errors import Broken
from rsi_master.core.job import Ending
from rsi_master.core.sealed_wire import FRAME_LIMIT
from rsi_master.core.warm import Cage, Entered, Failed, Forked, JobTier, Notice, Ready, Run

_TICK_SECONDS = 0.05
_PRELOAD_SECONDS = 300.0
_ANSWER_SECONDS = 20.0
_CPU_MARGIN_SECONDS = 60
# uids between the ranges that systemd gives to homes and to dynamic users, one a position.
_FIRST_USER = 60_600

# One process, and files that hold no more than a dataset may.
_CODE_CAGE = {"processes": 1, "file_mib": FRAME_LIMIT >> 20}

Done = Callable[[Attempt, Ending, str], None]


_Key = tuple[str, ...]


@dataclass
class _Crew:
    """A warm parent and the attempts that were given to it, or a cold process and its one."""

    parent: Parent
    what: str
    attempts: list[Attempt] = field(default_factory=list)
    failure: str = ", see warm.log in the spool folder"


@dataclass(frozen=True)
class _Cancel:
    name: str


class Supervisor(threading.Thread):
    """`done` is called once for each attempt, in this thread, when nothing of it runs any more."""

    def __init__(self, spool: Path, tier: JobTier, pythons: Mapping[str, str], done: Done) -> None:
        super().__init__(name="compute-supervisor", daemon=True)
        self._log = spool / "warm.log"
        self._tier = tier
        self._pythons = pythons
        self._done = done
        self._commands: SimpleQueue[Attempt | _Cancel | None] = SimpleQueue()
        self._wake, self._waker = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._cancelled_early: set[str] = set()
        self._crews: dict[_Key, _Crew] = {}
        self._judges: dict[str, Attempt] = {}

    def add(self, attempt: Attempt) -> None:
        """Run it."""
        self._command(attempt)

    def cancel(self, name: str) -> None:
        """Kill it if it runs."""
        self._command(_Cancel(name))

    def close(self) -> None:
        """Kill all and join the thread."""
        self._command(None)
        self.join()
        self._waker.close()

    def _command(self, command: Attempt | _Cancel | None) -> None:
        self._commands.put(command)
        self._waker.send(b"!")

    def run(self) -> None:
        """Serve until closed; whatever happens, every attempt gets an ending."""
        ending: Ending = "lost"
        try:
            while self._serve():
                continue
            ending = "cancelled"
        finally:
            for crew in self._crews.values():
                self._disband(crew, ending, "the engine was closed")
            while not self._commands.empty():
                command = self._commands.get()
                if isinstance(command, Attempt):
                    self._done(command, ending, "the engine was closed")
            self._selector.close()
            self._wake.close()

    def _serve(self) -> bool:
        busy = any(crew.attempts for crew in self._crews.values())
        for key, _ in self._selector.select(_TICK_SECONDS if busy else None):
            if key.data is None:
                self._wake.recv(4096)
            else:
                self._hear(*key.data)
        if not self._obey():
            return False
        now = time.monotonic()
        for crew in self._crews.values():
            self._dispatch(crew)
            for attempt in list(crew.attempts):
                self._enforce(crew, attempt, now)
            if not crew.parent.ready and now - crew.parent.born > _PRELOAD_SECONDS:
                crew.failure = f": no answer for {_PRELOAD_SECONDS:g} s"
                crew.parent.abort()
        return True

    def _obey(self) -> bool:
        """Carry out the commands; false on close."""
        while True:
            try:
                command = self._commands.get_nowait()
            except Empty:
                return True
            if command is None:
                return False
            if isinstance(command, _Cancel):
                self._cancel(command.name)
            else:
                self._accept(command)

    def _accept(self, attempt: Attempt) -> None:
        if attempt.job.name in self._cancelled_early:
            self._done(attempt, "cancelled", "before it was started")
            return
        if attempt.job.judge is not None:
            self._judges[attempt.job.name] = beside(attempt)
            self._join(self._judges[attempt.job.name])
            if attempt.job.name not in self._judges:
                self._end(attempt, "lost", "its judge could not be started")
                return
        self._join(attempt)

    def _join(self, attempt: Attempt) -> None:
        """Give it to the process that will run it, which is started if there is none yet."""
        key = _key(attempt)
        crew = self._crews.get(key)
        if crew is None:
            try:
                crew = self._crews[key] = self._crew(attempt)
            except Broken as error:
                self._end(attempt, "lost", error.message)
                return
            self._selector.register(crew.parent, selectors.EVENT_READ, (key, crew))
        crew.attempts.append(attempt)

    def _crew(self, attempt: Attempt) -> _Crew:
        program = attempt.program
        python = self._pythons[program.runtime]
        if attempt.job.job_class == "code":
            return _Crew(Parent.cold(python, self._log), "the cold process")
        return _Crew(Parent.warm(python, program.preload, self._log), "the warm parent")

    def _dispatch(self, crew: _Crew) -> None:
        if crew.parent.ready:
            for attempt in crew.attempts:
                if attempt.sent is None:
                    attempt.sent = time.monotonic()
                    crew.parent.run(self._order(attempt), attempt.link)
                    _let_go(attempt)

    def _order(self, attempt: Attempt) -> Run:
        resources = attempt.job.resources
        cage = Cage(
            tier=self._tier,
            user=_FIRST_USER + attempt.position if os.geteuid() == 0 else None,
            memory_mib=resources.memory_mib,
            cpu_seconds=int(resources.seconds) * max(1, resources.devices) + _CPU_MARGIN_SECONDS,
        )
        if attempt.job.job_class == "code":
            cage = cage.model_copy(update=_CODE_CAGE)
        return Run(
            name=attempt.job.name,
            folder=str(attempt.folder),
            entry=attempt.program.entry,
            cage=cage,
            linked=attempt.link is not None,
            visible_gpus=tuple(one for one in attempt.devices if is_gpu(one)),
        )

    def _enforce(self, crew: _Crew, attempt: Attempt, now: float) -> None:
        # A parent that neither forks nor kills when told to is no use to its other jobs either.
        waits_since = attempt.sent if attempt.group is None else attempt.killed_at
        if waits_since is not None and now - waits_since > _ANSWER_SECONDS:
            crew.parent.abort()
        if attempt.killed_at is not None:
            return
        overdue = attempt.overdue(now)
        if overdue is not None:
            self._kill(crew, attempt, overdue)

    def _kill(self, crew: _Crew, attempt: Attempt, reason: Ending) -> None:
        attempt.reason, attempt.killed_at = reason, time.monotonic()
        crew.parent.kill(attempt.job.name)

    def _cancel(self, name: str) -> None:
        crew, attempt = self._find(name)
        if crew is None or attempt is None:
            self._cancelled_early.add(name)
        else:
            self._halt(crew, attempt, "cancelled")

    def _halt(self, crew: _Crew, attempt: Attempt, reason: Ending) -> None:
        if attempt.sent is None:
            self._finish(crew, attempt, reason, "before it was started")
        elif attempt.killed_at is None:
            self._kill(crew, attempt, reason)

    def _find(self, name: str) -> tuple[_Crew | None, Attempt | None]:
        for crew in self._crews.values():
            for attempt in crew.attempts:
                if attempt.job.name == name:
                    return crew, attempt
        return None, None

    def _hear(self, key: _Key, crew: _Crew) -> None:
        notices = crew.parent.notices()
        for notice in notices or ():
            self._note(crew, notice)
        if notices is None:
            self._selector.unregister(crew.parent)
            del self._crews[key]
            self._disband(crew, "lost", f"{crew.what} is gone{crew.failure}")

    def _note(self, crew: _Crew, notice: Notice) -> None:
        if isinstance(notice, Failed):
            crew.failure = f": {notice.detail}"
            return
        if isinstance(notice, Ready):
            return
        attempt = next((one for one in crew.attempts if one.job.name == notice.name), None)
        if attempt is None:
            return
        if isinstance(notice, Forked):
            attempt.fork_seen(notice.pid, time.monotonic())
        elif isinstance(notice, Entered):
            attempt.entered = True
        else:
            self._finish(crew, attempt, *attempt.judge(notice))

    def _finish(self, crew: _Crew, attempt: Attempt, ending: Ending, detail: str) -> None:
        crew.attempts.remove(attempt)
        if attempt.job.job_class == "code" and attempt.sent is None:
            crew.parent.abort()  # it waits for an order that will not come
        self._end(attempt, ending, detail)

    def _end(self, attempt: Attempt, ending: Ending, detail: str) -> None:
        """Tell the end of an attempt, once its judge is gone too."""
        _let_go(attempt)
        if attempt.judged is not None:
            self._end_judge(attempt, attempt.judged, ending)
            return
        judge = self._judges.get(attempt.job.name)
        crew, _ = self._find(judge.job.name) if judge is not None else (None, None)
        if judge is None or crew is None:
            self._done(attempt, ending, detail)
            return
        judge.then = (ending, detail)
        self._halt(crew, judge, "cancelled")

    def _end_judge(self, judge: Attempt, judged: Attempt, ending: Ending) -> None:
        """A job whose judge was not confined or never heard of again is over, for the same reason;
        one whose judge died finds out by asking."""
        del self._judges[judged.job.name]
        if judge.then is not None:
            self._done(judged, *judge.then)
            return
        crew, _ = self._find(judged.job.name)
        if ending in ("refused", "lost") and crew is not None:
            self._halt(crew, judged, ending)

    def _disband(self, crew: _Crew, ending: Ending, detail: str) -> None:
        """End the parent, kill what it may have left, and give each of its attempts an ending."""
        crew.parent.end(tuple(one.group for one in crew.attempts if one.group is not None))
        for attempt in list(crew.attempts):
            self._finish(crew, attempt, attempt.reason or ending, detail)


def _let_go(attempt: Attempt) -> None:
    """Close the end of the line that the process has by now, or will never have."""
    if attempt.link is not None:
        attempt.link.close()
        attempt.link = None


def _key(attempt: Attempt) -> _Key:
    """Equal for jobs that share a parent."""
    if attempt.job.job_class == "code":
        return "cold", attempt.job.name
    return "warm", attempt.program.runtime, *attempt.program.preload
