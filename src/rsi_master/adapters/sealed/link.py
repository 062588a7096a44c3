"""One started sealed process and the two lines to it: items may take hours, rows must not wait."""

import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rsi_master.adapters.sealed.line import Line
from rsi_master.core.errors import SealUnavailable
from rsi_master.core.sealed import SealedSet

PROGRAM = "rsi_master.programs.sealed"
# Read when numeric libraries are loaded; all that the process inherits.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
}
_PATIENCE = 5.0


class Link:
    """Starts the process on construction; `close` kills it.

    `items` is the line for evaluations and claims, `rows` the one for everything quick. The first
    frame on `items` is a greeting that nobody asked for.
    """

    def __init__(self, folder: Path, base: Path, python: str = sys.executable) -> None:
        self._greeting: SealedSet | None = None
        with ExitStack() as stack:
            items, their_items = (stack.enter_context(end) for end in socket.socketpair())
            rows, their_rows = (stack.enter_context(end) for end in socket.socketpair())
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            command = [python, "-I", "-m", PROGRAM, "serve", "--set", str(folder.absolute())]
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [*command, "--base", str(base.absolute())],
                stdin=their_items.fileno(),
                stdout=their_rows.fileno(),
                stderr=self._errors,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
            their_items.close()
            their_rows.close()
            self._resources = stack.pop_all()
        self.items = Line(items, self._gone)
        self.rows = Line(rows, self._gone)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self._process.pid)

    @property
    def greeted(self) -> bool:
        """Whether the greeting was read."""
        return self._greeting is not None

    def greeting(self, seconds: float) -> SealedSet:
        """What the process says of its set when it starts; raises its reason not to serve."""
        if self._greeting is None:
            with self.items.lock:
                if self._greeting is None:
                    self._greeting = self.items.receive(SealedSet, seconds)
        return self._greeting

    def kill(self) -> None:
        """End the process; safe while other threads wait for its answers."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End the process, let waiting threads see it, free the sockets."""
        self.kill()
        with self.items.lock, self.rows.lock:
            self._resources.close()

    def _gone(self, circumstance: str) -> SealUnavailable:
        try:
            status = f"exit status {self._process.wait(_PATIENCE)}"
        except subprocess.TimeoutExpired:
            status = "socket closed"
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").strip().rsplit("\n", 1)[-1]
        detail = f" ({last[:200]})" if last else ""
        return SealUnavailable(
            "SEALED_DIED",
            f"sealed process {self.pid} ended {circumstance}: {status}{detail}; "
            "it can be restarted, or the run resumed",
        )
