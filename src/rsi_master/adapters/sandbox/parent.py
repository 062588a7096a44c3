"""The owner's end of a process that runs jobs, a warm parent or a cold process of one job: start it
with an almost empty environment, talk, end it."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from pydantic import ValidationError

import rsi_master
from rsi_master.core.errors import Broken
from rsi_master.core.warm import LINE_BYTES, NOTICE, Kill, Notice, Order, Run, line

_END_SECONDS = 5.0
_POLL_SECONDS = 0.005

# Read when the libraries load, so they must stand at exec; nothing of the owner's is passed on.
_ENVIRONMENT = {
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "LOGNAME": "job",
    "USER": "job",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "HF_HOME": "/tmp/huggingface",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}
# Equal sets in equal order: what a program of an agent makes of a row repeats.
_COLD_ENVIRONMENT = {"PYTHONHASHSEED": "0"}
# Nothing of the environment but that is heeded: no site packages, no user's, no folder of a script.
_COLD_FLAGS = ("-P", "-s", "-S", "-B")
_COLD_START = Path(rsi_master.__file__).parent / "programs" / "code" / "__main__.py"


class Parent:
    """One process that runs jobs. Start it in a thread that outlives it: it dies with that thread.

    Not thread-safe. `ready` follows from the notices that were read.
    """

    def __init__(self, process: subprocess.Popen[bytes], ours: socket.socket) -> None:
        ours.settimeout(_END_SECONDS)
        self._process = process
        self._socket = ours
        self._buffer = bytearray()
        self.born = time.monotonic()
        self.ready = False

    @classmethod
    def warm(cls, python: str, preload: tuple[str, ...], log: Path) -> "Parent":
        """A parent that imports `preload` and forks any number of jobs; raises Broken."""
        command: tuple[str, ...] = (python, "-I", "-B", "-m", "rsi_master.programs.jobs.warm")
        command += ("--preload", ",".join(preload))
        return cls(*_start("the warm parent", command, _ENVIRONMENT, log, session=True))

    @classmethod
    def cold(cls, python: str, log: Path) -> "Parent":
        """A process that carries out one job of agents' code itself, and ends; raises Broken."""
        command = (python, *_COLD_FLAGS, str(_COLD_START))
        # It makes its session itself, where a session leader could not.
        return cls(*_start("the cold process", command, _COLD_ENVIRONMENT, log, session=False))

    @property
    def pid(self) -> int:
        """Process id of the parent."""
        return self._process.pid

    def fileno(self) -> int:
        """Readable when a notice waits or the parent is gone."""
        return self._socket.fileno()

    def run(self, order: Run, link: socket.socket | None = None) -> bool:
        """Run a job, which is given `link`; false when the parent is gone or does not listen."""
        return self._tell(order, () if link is None else (link.fileno(),))

    def kill(self, name: str) -> bool:
        """Kill a job; false when the parent is gone or does not listen."""
        return self._tell(Kill(name=name))

    def _tell(self, order: Order, descriptors: tuple[int, ...] = ()) -> bool:
        data = line(order)
        try:
            sent = socket.send_fds(self._socket, [data], descriptors) if descriptors else 0
            self._socket.sendall(data[sent:])
        except OSError:
            return False
        return True

    def notices(self) -> tuple[Notice, ...] | None:
        """What has arrived, after `fileno` was readable; None when the parent is gone."""
        try:
            received = self._socket.recv(LINE_BYTES)
        except OSError:
            return None
        if not received:
            return None
        *lines, rest = (self._buffer + received).split(b"\n")
        self._buffer = bytearray(rest)
        try:
            found = tuple(NOTICE.validate_json(bytes(one)) for one in lines)
        except ValidationError:
            return None
        self.ready = self.ready or any(one.kind == "ready" for one in found)
        return found

    def abort(self) -> None:
        """Kill it now; its jobs die with it and `notices` will tell."""
        self._process.kill()

    def end(self, groups: tuple[int, ...] = ()) -> None:
        """Let it end, kill it if it does not; kill the groups it may have left and see them go."""
        self._socket.close()
        if not self.ready:
            self._process.kill()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_END_SECONDS)
        limit = time.monotonic() + _END_SECONDS
        while sum(_kill(group) for group in groups) and time.monotonic() < limit:
            time.sleep(_POLL_SECONDS)


def _start(
    what: str,
    command: tuple[str, ...],
    environment: dict[str, str],
    log: Path,
    *,
    session: bool,
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    ours, theirs = socket.socketpair()
    control = ("--control", str(theirs.fileno()), "--owner", str(os.getpid()))
    try:
        with theirs, log.open("ab") as sink:
            process = subprocess.Popen(
                (*command, *control),
                env=environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                pass_fds=(theirs.fileno(),),
                start_new_session=session,
            )
    except OSError as error:
        ours.close()
        text = f"{what} could not be started with {command[0]}: {error}"
        raise Broken("WARM_PARENT", text) from error
    return process, ours


def _kill(group: int) -> bool:
    """Kill a process group; whether there was anything left of it."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
