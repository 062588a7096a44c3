"""Artifacts: bytes known by digest. A folder is the digest of its manifest of files."""

from typing import Annotated, Literal

from pydantic import Field

from rsi_master.core.model import Value

Kind = Literal["base", "dataset", "checkpoint", "outputs", "job", "metrics", "log", "contract"]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


class Artifact(Value):
    """What the record says of stored bytes: `size` in bytes over all `files`."""

    digest: Digest
    kind: Kind
    size: int
    files: int = 1


class Row(Value):
    """One training example exactly as the trainer reads it; the loss is on the completion alone."""

    prompt: str
    completion: str
