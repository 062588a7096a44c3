"""The owner's end of one socket to the sealed process: one request, one reply, in turns."""

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from rsi_master.core.errors import Misuse, SealUnavailable
from rsi_master.core.model import Value
from rsi_master.core.sealed_wire import FrameReader, Reply, frame

CHUNK = 1 << 20

Content = TypeVar("Content", bound=Value)
Gone = Callable[[str], SealUnavailable]


class Line:
    """Use it with `lock` held. `gone` makes the error for a stream that ended.

    `busy` holds from the start of a request to the end of its reply: a line that is left busy,
    also by an interrupt, is out of step and cannot be used again.
    """

    def __init__(self, connection: socket.socket, gone: Gone) -> None:
        self.lock = threading.Lock()
        self.busy = False
        self._socket = connection
        self._gone = gone
        self._reader = FrameReader()

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
        self.busy = True
        body = None
        while body is None:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self._socket.recv(CHUNK)
            except TimeoutError as cause:
                raise SealUnavailable(
                    "SEALED_TIMEOUT", f"the sealed process gave no answer in {seconds:g} s"
                ) from cause
            except OSError as cause:
                raise self._gone(str(cause)) from cause
            if not data:
                raise self._gone("while it was waited for")
            body = self._fed(data)
        self.busy = False
        return _value(content, body)

    def _fed(self, data: bytes) -> bytes | None:
        try:
            return self._reader.feed(data)
        except Misuse as cause:
            raise SealUnavailable("SEALED_ANSWER", f"sealed process: {cause.message}") from cause


def _value(content: type[Content], body: bytes) -> Content:
    try:
        reply = TypeAdapter[Reply[Content]](Reply[content]).validate_json(body)  # type: ignore[valid-type]
    except ValidationError as cause:
        raise SealUnavailable("SEALED_ANSWER", "the sealed process answered nonsense") from cause
    if reply.failure is not None:
        raise reply.failure.to_error()
    if reply.value is None:
        raise SealUnavailable("SEALED_ANSWER", "the sealed process answered nothing")
    return reply.value


def _opened(path: Path, stack: ExitStack) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as cause:
        raise Misuse("NO_CHECKPOINT", f"checkpoint {path}: {cause.strerror}") from cause
    stack.callback(os.close, descriptor)
    return descriptor
