"""One started sealed process and the owner's end of its socket."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from rsi_master.core.errors import Misuse, SealUnavailable
from rsi_master.core.model import Value
from rsi_master.core.sealed_wire import FrameReader, Reply, frame

CHUNK = 1 << 20
PROGRAM = "rsi_master.programs.sealed"
# Read when numeric libraries are loaded; all that the process inherits.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
}
_PATIENCE = 5.0

Content = TypeVar("Content", bound=Value)


class Link:
    """Starts the process on construction; `close` kills it. Not thread-safe.

    `busy` holds from the start of a request to the end of its reply: a link that is left busy,
    also by an interrupt, is out of step and must be closed.
    """

    def __init__(self, folder: Path, base: Path, python: str = sys.executable) -> None:
        self.busy = True
        self._reader = FrameReader()
        with ExitStack() as stack:
            self._socket, theirs = (stack.enter_context(end) for end in socket.socketpair())
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            command = [python, "-I", "-m", PROGRAM, "serve", "--set", str(folder.absolute())]
            self._process: subprocess.Popen[bytes] = subprocess.Popen(
                [*command, "--base", str(base.absolute())],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=ENVIRONMENT,
                cwd="/",
                start_new_session=True,
            )
            theirs.close()
            self._resources = stack.pop_all()

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        return int(self._process.pid)

    def send(self, request: Value, files: tuple[Path, ...], seconds: float) -> None:
        """Write one request, and beside it a descriptor of each file, opened read-only."""
        message = frame(request.model_dump_json().encode())
        with ExitStack() as opened:
            descriptors = [_opened(file, opened) for file in files]
            self._socket.settimeout(seconds)
            self.busy = True
            try:
                sent = socket.send_fds(self._socket, [message], descriptors)
                self._socket.sendall(message[sent:])
            except OSError as cause:
                raise self._gone(f"while it was asked: {cause}") from cause

    def receive(self, content: type[Content], seconds: float) -> Content:
        """The next reply's value; raises its failure, or SealUnavailable after `seconds`."""
        deadline = time.monotonic() + seconds
        body = None
        while body is None:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self._socket.recv(CHUNK)
            except TimeoutError as cause:
                raise SealUnavailable(
                    "SEALED_TIMEOUT", f"sealed process {self.pid} gave no answer in {seconds:g} s"
                ) from cause
            except OSError as cause:
                raise self._gone(str(cause)) from cause
            if not data:
                raise self._gone("while it was waited for")
            body = self._fed(data)
        self.busy = False
        return self._value(content, body)

    def kill(self) -> None:
        """End the process; safe from another thread than the one that waits for an answer."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process and free the socket."""
        self._process.kill()
        self._process.wait()
        self._resources.close()

    def _fed(self, data: bytes) -> bytes | None:
        try:
            return self._reader.feed(data)
        except Misuse as cause:
            raise SealUnavailable("SEALED_ANSWER", f"sealed process: {cause.message}") from cause

    def _value(self, content: type[Content], body: bytes) -> Content:
        try:
            reply = Reply[content].model_validate_json(body)  # type: ignore[valid-type]
        except ValidationError as cause:
            raise SealUnavailable(
                "SEALED_ANSWER", "the sealed process answered nonsense"
            ) from cause
        if reply.failure is not None:
            raise reply.failure.to_error()
        if reply.value is None:
            raise SealUnavailable("SEALED_ANSWER", "the sealed process answered nothing")
        value: Content = reply.value
        return value

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


def _opened(path: Path, stack: ExitStack) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as cause:
        raise Misuse("NO_CHECKPOINT", f"checkpoint {path}: {cause.strerror}") from cause
    stack.callback(os.close, descriptor)
    return descriptor
