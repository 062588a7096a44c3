"""Messages between the owner and the sealed process, and their frames: four bytes of length, JSON.

Checkpoints travel beside a frame as read-only descriptors, never as paths.
"""

import struct
from typing import Annotated, Final, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter

from rsi_master.core.artifact import AnyRow, Digest
from rsi_master.core.errors import Broken, Misuse, PolicyDenied, RsiError, SealUnavailable
from rsi_master.core.model import Value
from rsi_master.core.probe import Window
from rsi_master.core.score import Split
from rsi_master.core.sealed import Points

FRAME_LIMIT: Final = 64 << 20
CHECKPOINT_FILE: Final = "model.safetensors"
_HEADER: Final = struct.Struct(">I")

Content = TypeVar("Content")
Name = Annotated[str, Field(pattern=r"^[!-~]{1,200}$")]


class OpenRequest(Value):
    """Describe the sealed set."""

    kind: Literal["open"] = "open"


class ScanRequest(Value):
    """Say which rows may become data."""

    kind: Literal["scan"] = "scan"
    rows: tuple[AnyRow, ...]


class PoolRequest(Value):
    """Hand out the rows of a source."""

    kind: Literal["pool"] = "pool"
    source: str


class VerifyRequest(Value):
    """Say what the open verifier gives for the answers of rows."""

    kind: Literal["verify"] = "verify"
    rows: tuple[AnyRow, ...]


class EvaluateRequest(Value):
    """Score the checkpoint whose descriptor comes with this frame."""

    kind: Literal["evaluate"] = "evaluate"
    name: Name
    splits: Annotated[tuple[Split, ...], Field(min_length=1)]


class ProbeRequest(Value):
    """Put practice questions to the checkpoint whose descriptor comes with this frame."""

    kind: Literal["probe"] = "probe"
    name: Name
    window: Window


class ClaimRequest(Value):
    """Open the holdout for the champion and the base whose descriptors come with this frame."""

    kind: Literal["claim"] = "claim"
    name: Name


Request = Annotated[
    OpenRequest
    | ScanRequest
    | PoolRequest
    | VerifyRequest
    | EvaluateRequest
    | ProbeRequest
    | ClaimRequest,
    Field(discriminator="kind"),
]
REQUEST: TypeAdapter[Request] = TypeAdapter(Request)


class PoolRows(Value):
    """The rows of one source."""

    rows: tuple[AnyRow, ...]


class Survey(Value):
    """What a file of questions holds: its digest, different rows, different questions by task."""

    digest: Digest
    rows: int
    questions: dict[str, int]


class VerifiedRows(Value):
    """The points of each row's answers."""

    points: tuple[Points, ...]


ErrorKind = Literal["Misuse", "PolicyDenied", "SealUnavailable", "Broken"]
_ERRORS: Final[dict[ErrorKind, type[RsiError]]] = {
    "Misuse": Misuse,
    "PolicyDenied": PolicyDenied,
    "SealUnavailable": SealUnavailable,
    "Broken": Broken,
}


class Failure(Value):
    """An error of the sealed side; its message never quotes an item."""

    error: ErrorKind
    code: str
    message: str

    @classmethod
    def of(cls, error: RsiError) -> "Failure":
        """The failure that stands for `error`; classes of other boundaries become Broken."""
        names = [name for name, known in _ERRORS.items() if isinstance(error, known)]
        return cls(error=names[0] if names else "Broken", code=error.code, message=error.message)

    def to_error(self) -> RsiError:
        """The error to raise on the owner's side."""
        return _ERRORS[self.error](self.code, self.message)


class Reply(Value, Generic[Content]):
    """The answer to one request: a value or a failure."""

    value: Content | None = None
    failure: Failure | None = None


def frame(body: bytes) -> bytes:
    """The body with its length in front; raises Misuse when it is over the limit."""
    if len(body) > FRAME_LIMIT:
        size = len(body)
        raise Misuse(
            "FRAME_TOO_LARGE", f"message of {size} bytes, limit {FRAME_LIMIT}; send fewer rows"
        )
    return _HEADER.pack(len(body)) + body


class FrameReader:
    """Cuts a byte stream into frames; a length over the limit is refused before it is read."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> bytes | None:
        """Add received bytes; the next body when it is complete, else None. Raises Misuse."""
        self._buffer += data
        if len(self._buffer) < _HEADER.size:
            return None
        (length,) = _HEADER.unpack_from(self._buffer)
        if length > FRAME_LIMIT:
            raise Misuse("FRAME_TOO_LARGE", f"frame of {length} bytes, limit {FRAME_LIMIT}")
        end = _HEADER.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[_HEADER.size : end])
        del self._buffer[:end]
        return body
