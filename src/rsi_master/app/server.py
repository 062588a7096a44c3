"""The owner's door for other processes: a unix socket, one JSON request and answer per line.

Request: {"token", "action", "arguments"}; answer: {"ok": true, "answer"} or {"ok": false, "code",
"message", "exit"}. The socket lies in a folder of the user alone; a token is asked all the same.

An action may wait for a device and then for minutes of work. So the one who asks waits as long as
the owner lives: its end closes the connection, and one that hangs opens its door no more.
"""

import contextlib
import json
import select
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rsi_master.core.errors import Broken, Misuse, RsiError
from rsi_master.expos.gateway import Gateway

LINE_BYTES = 256_000
SECONDS = 600.0
"""How long the owner waits for the next line of a connection."""
PATIENCE = 60.0
"""Seconds without an answer until the door is tried."""


class _Handler(socketserver.StreamRequestHandler):
    timeout = SECONDS

    def handle(self) -> None:
        gateway: Gateway = self.server.gateway  # type: ignore[attr-defined]
        while line := self.rfile.readline(LINE_BYTES):
            answer = answer_line(gateway, line)
            self.wfile.write(json.dumps(answer).encode() + b"\n")
            if not line.endswith(b"\n"):
                return


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, path: Path, gateway: Gateway) -> None:
        self.gateway = gateway
        super().__init__(str(path), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event of the owner."""


@contextlib.contextmanager
def serving(gateway: Gateway, path: Path) -> Iterator[None]:
    """Serve the gateway at the socket until the end of the `with`."""
    path.unlink(missing_ok=True)
    server = _Server(path, gateway)
    path.chmod(0o600)
    thread = threading.Thread(target=server.serve_forever, name="socket", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


def answer_line(gateway: Gateway, line: bytes) -> dict[str, object]:
    """The answer to one request line; every failure is an answer."""
    try:
        token, action, arguments = _request(line)
        value = gateway.submit(token, action, arguments)
        return {"ok": True, "answer": value.model_dump(mode="json")}
    except RsiError as problem:
        return failure(problem)
    except Exception as problem:  # noqa: BLE001 - the boundary: the owner outlives its callers
        kind = type(problem).__name__
        return failure(RsiError("INTERNAL", f"the request failed inside the owner: {kind}"))


def failure(problem: RsiError) -> dict[str, object]:
    """An error as an answer."""
    return {
        "ok": False,
        "code": problem.code,
        "message": problem.message,
        "exit": problem.exit_code,
    }


def ask(
    path: Path,
    token: str,
    action: str,
    arguments: Mapping[str, object],
    patience: float = PATIENCE,
) -> dict[str, object]:
    """Send one request to a living owner and wait for its answer, however long the action takes.

    Raises Broken when no owner answers, or one that was asked answers nobody for two times
    `patience` seconds.
    """
    request = {"token": token, "action": action, "arguments": dict(arguments)}
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(patience)
            link.connect(str(path))
            link.sendall(json.dumps(request).encode() + b"\n")
            _await(link, path, patience)
            with link.makefile("rb") as file:
                line = file.readline()
    except OSError as cause:
        raise Broken("OWNER_SILENT", f"the owner does not answer: {cause}") from cause
    if not line:
        raise Broken("OWNER_SILENT", "the owner closed the connection without an answer")
    answer: dict[str, object] = json.loads(line)
    return answer


def alive(path: Path, patience: float = PATIENCE) -> bool:
    """Whether somebody behind the socket answers a request, though this one is none."""
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(patience)
            link.connect(str(path))
            link.sendall(b"{}\n")
            return link.recv(1) != b""
    except OSError:
        return False


def _await(link: socket.socket, path: Path, patience: float) -> None:
    """Wait until there is something to read, be it the end; raises TimeoutError."""
    shut = False
    while not select.select([link], [], [], patience)[0]:
        if shut:
            raise TimeoutError(f"nothing for {2 * patience:g} s, and its door is shut")
        shut = not alive(path, patience)


def _request(line: bytes) -> tuple[str, str, Mapping[str, object]]:
    try:
        raw = json.loads(line)
        token, action, arguments = raw["token"], raw["action"], raw.get("arguments", {})
    except (ValueError, KeyError, TypeError, RecursionError) as cause:
        raise Misuse(
            "BAD_REQUEST", "a request is one JSON line with token, action and arguments"
        ) from cause
    if not (isinstance(token, str) and isinstance(action, str) and isinstance(arguments, dict)):
        raise Misuse("BAD_REQUEST", "token and action are texts, arguments an object")
    return token, action, arguments
