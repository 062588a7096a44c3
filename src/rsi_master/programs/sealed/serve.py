"""The loop of the sealed process: one request after another until the owner is gone."""

import sys
import threading
import traceback
from pathlib import Path

from pydantic import ValidationError

from rsi_master.core.errors import Broken, Misuse, RsiError, SealUnavailable
from rsi_master.core.model import Value
from rsi_master.core.sealed import SealedSet
from rsi_master.core.sealed_wire import (
    REQUEST,
    ClaimRequest,
    EvaluateRequest,
    Failure,
    OpenRequest,
    PoolRequest,
    PoolRows,
    ProbeRequest,
    Reply,
    ScanRequest,
    VerifiedRows,
    VerifyRequest,
)
from rsi_master.programs.sealed import hardening
from rsi_master.programs.sealed.channel import Channel, OwnerGoneError, Received
from rsi_master.programs.sealed.examiner import Examiner
from rsi_master.programs.sealed.registry import Registry
from rsi_master.programs.sealed.vault import load

_PATIENCE = 10.0


def serve(folder: Path, base: Path) -> int:
    """Serve the set in `folder` over the two inherited sockets; the exit status.

    The first frame that is sent describes the set, or says why it cannot be served. Requests are
    answered without privileges. Rows have a socket and a thread of their own, so that they wait
    neither for the import of a training stack nor for a generation.
    """
    items, rows = (Channel(connection) for connection in hardening.take_sockets())
    hardening.harden()
    try:
        examiner = _opened(items, folder, base)
        hardening.leave_root()
        _start_rows(rows, examiner)
        examiner.prepare()
        hardening.leave_rights()
        if hardening.privileged_threads():
            raise SealUnavailable("PRIVILEGES_LEFT", "a library's thread kept a capability")
    except OwnerGoneError:
        return 0
    except RsiError as error:
        items.send(_failed(error))
        return error.exit_code
    return _answer_all(items, examiner)


def _start_rows(channel: Channel, examiner: Examiner) -> None:
    """Answer on `channel` in a thread that has given up its rights when this returns."""
    harmless = threading.Event()

    def answer() -> None:
        hardening.leave_rights()
        harmless.set()
        _answer_all(channel, examiner)

    threading.Thread(target=answer, daemon=True).start()
    if not harmless.wait(_PATIENCE):
        raise SealUnavailable("PRIVILEGES_LEFT", "the thread for rows did not start")


def _answer_all(channel: Channel, examiner: Examiner) -> int:
    """Answer one request after another until the owner is gone or the stream is out of step."""
    try:
        while True:
            with channel.receive() as received:
                channel.send(_answered(examiner, received))
    except OwnerGoneError:
        return 0
    except RsiError as error:
        channel.send(_failed(error))
        channel.close()
        return error.exit_code


def _opened(channel: Channel, folder: Path, base: Path) -> Examiner:
    vault = load(folder, base)
    hardening.log_to(folder)
    registry = Registry(folder, vault.manifest.public.openings)
    examiner = Examiner(vault, registry, channel.check)
    channel.send(Reply[SealedSet](value=examiner.open()).model_dump_json().encode())
    return examiner


def _answered(examiner: Examiner, received: Received) -> bytes:
    """The reply to one frame; whatever goes wrong becomes a failure that quotes no item."""
    try:
        return (
            Reply[Value](value=_handled(examiner, received))
            .model_dump_json(serialize_as_any=True)
            .encode()
        )
    except OwnerGoneError:
        raise
    except RsiError as error:
        return _failed(error)
    except Exception as error:  # noqa: BLE001 - the boundary of the process
        traceback.print_exc(file=sys.stderr)
        kind = type(error).__name__
        return _failed(Broken("SEALED_FAILED", f"{kind} in the sealed process; see its serve.log"))


def _handled(examiner: Examiner, received: Received) -> Value:
    try:
        request = REQUEST.validate_json(received.body)
    except ValidationError as cause:
        place = cause.errors(include_url=False, include_input=False)[0]
        raise Misuse("BAD_REQUEST", f"sealed request at {place['loc']}: {place['msg']}") from cause
    match request:
        case OpenRequest():
            return examiner.open()
        case ScanRequest():
            return examiner.scan(request.rows)
        case PoolRequest():
            return PoolRows(rows=examiner.pool(request.source))
        case VerifyRequest():
            return VerifiedRows(points=examiner.verify(request.rows))
        case EvaluateRequest():
            (checkpoint,) = received.checkpoints(1)
            return examiner.evaluate(request.splits, checkpoint)
        case ProbeRequest():
            (checkpoint,) = received.checkpoints(1)
            return examiner.probe(request.window, checkpoint)
        case ClaimRequest():
            champion, base = received.checkpoints(2)
            return examiner.claim(request.name, champion, base)


def _failed(error: RsiError) -> bytes:
    return Reply[Value](failure=Failure.of(error)).model_dump_json().encode()
