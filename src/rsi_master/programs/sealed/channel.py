"""The sealed end of the socket: frames, and descriptors of plain files opened read-only."""

import fcntl
import os
import select
import socket
import stat
from dataclasses import dataclass
from typing import Self

from rsi_master.core.errors import Broken, Misuse
from rsi_master.core.sealed_wire import FrameReader, frame

CHUNK = 1 << 20
CHECKPOINT_LIMIT = 64 << 30
_MOST_DESCRIPTORS = 4


class OwnerGoneError(Exception):
    """The other end closed: there is nobody left to answer."""


@dataclass(frozen=True, slots=True)
class Received:
    """One frame and the descriptors that came with it."""

    body: bytes
    descriptors: tuple[int, ...]

    def checkpoints(self, count: int) -> list[bytes]:
        """The bytes of the files that were handed over, each read once; raises Misuse."""
        found = len(self.descriptors)
        if found != count:
            raise Misuse(
                "NO_CHECKPOINT", f"{found} descriptors came with the frame, wanted {count}"
            )
        return [_content(descriptor) for descriptor in self.descriptors]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)


def _content(descriptor: int) -> bytes:
    status = os.fstat(descriptor)
    mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
    if not stat.S_ISREG(status.st_mode) or mode != os.O_RDONLY:
        raise Misuse("NO_CHECKPOINT", "the descriptor is not a plain file opened read-only")
    if status.st_size > CHECKPOINT_LIMIT:
        raise Misuse("CHECKPOINT_TOO_LARGE", f"{status.st_size} bytes > {CHECKPOINT_LIMIT}")
    with open(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


class Channel:
    """Blocking receive and send; raises OwnerGoneError at the end of the stream."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._reader = FrameReader()

    def receive(self) -> Received:
        """The next frame. An oversize one raises Broken: the stream cannot be trusted any more."""
        descriptors: list[int] = []
        data, body = b"", None
        while body is None:
            try:
                data, found, _, _ = socket.recv_fds(self._socket, CHUNK, _MOST_DESCRIPTORS)
            except ConnectionError as cause:
                raise OwnerGoneError from cause
            descriptors += found
            if not data:
                raise OwnerGoneError
            try:
                body = self._reader.feed(data)
            except Misuse as cause:
                raise Broken(cause.code, cause.message) from cause
        return Received(body, tuple(descriptors))

    def send(self, body: bytes) -> None:
        """Write one frame."""
        try:
            self._socket.sendall(frame(body))
        except ConnectionError as cause:
            raise OwnerGoneError from cause

    def close(self) -> None:
        """End the stream: the other end sees it."""
        self._socket.close()

    def check(self) -> None:
        """Raise OwnerGoneError when the other end has closed."""
        poller = select.poll()
        poller.register(self._socket, 0)
        if poller.poll(0):
            raise OwnerGoneError
