"""Datasets: rows that passed the scan. A dataset's id is the digest of its rendered rows."""

from pydantic import Field

from rsi_master.core.action import NodeId
from rsi_master.core.artifact import Artifact, Digest
from rsi_master.core.event import Fact
from rsi_master.core.model import Value


class Source(Value):
    """Where rows came from: a source named by the contract, or datasets and an operation."""

    origin: str
    parents: tuple[Digest, ...] = ()
    operation: dict[str, object] = Field(default_factory=dict)


class DatasetRegistered(Fact):
    """Rows were scanned, cleaned and stored; only now do they have an id."""

    type = "dataset.registered"

    artifact: Artifact
    source: Source
    rows: int
    offered: int
    dropped: dict[str, int]
    completion_chars: int
    prompt_chars: int
    by: NodeId


class DatasetRefused(Fact):
    """No row survived the scan, or the rows are unusable; nothing was stored."""

    type = "dataset.refused"

    source: Source
    offered: int
    dropped: dict[str, int]
    by: NodeId
