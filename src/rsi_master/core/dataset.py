"""Datasets: rows that passed the scan. A dataset's id is the digest of its rendered rows."""

from collections.abc import Mapping

from pydantic import Field

from rsi_master.core.action import NodeId
from rsi_master.core.artifact import Artifact, Digest, RowKind
from rsi_master.core.event import Fact
from rsi_master.core.model import Value


class Source(Value):
    """Where rows came from: a source named by the contract, or datasets and an operation."""

    origin: str
    parents: tuple[Digest, ...] = ()
    operation: dict[str, object] = Field(default_factory=dict)


class DatasetRegistered(Fact):
    """Rows of one kind were scanned, cleaned and stored; only now do they have an id.

    `completion_chars` counts all answers: completions, or both answers of each pair. Version 1 knew
    rows with a completion alone.
    """

    type = "dataset.registered"
    version = 2

    artifact: Artifact
    source: Source
    holds: RowKind
    rows: int
    offered: int
    dropped: dict[str, int]
    completion_chars: int
    prompt_chars: int
    by: NodeId

    @classmethod
    def upcast(cls, version: int, fields: Mapping[str, object]) -> Mapping[str, object]:
        """See `Fact`."""
        if version != 1:
            return super().upcast(version, fields)
        return cls.extended(fields, holds="rows")


class DatasetRefused(Fact):
    """No row survived the scan, or the rows are unusable; nothing was stored."""

    type = "dataset.refused"

    source: Source
    offered: int
    dropped: dict[str, int]
    by: NodeId
