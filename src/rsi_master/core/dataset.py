"""Datasets: rows that passed the scan. A dataset's id is the digest of its rendered rows."""

from collections.abc import Mapping

from pydantic import Field

from rsi_master.core.action import NodeId
from rsi_master.core.artifact import Artifact, Digest, RowKind
from rsi_master.core.event import Fact
from rsi_master.core.model import Value


class Sampled(Value):
    """The checkpoint that wrote answers: of which experiment, or `base`, and its tensors."""

    experiment: str
    weights: Digest


class Source(Value):
    """Where rows came from: a source named by the contract, or datasets and an operation; for rows
    with answers that a checkpoint of the run wrote, that checkpoint."""

    origin: str
    parents: tuple[Digest, ...] = ()
    operation: dict[str, object] = Field(default_factory=dict)
    sampled: Sampled | None = None


class DatasetRegistered(Fact):
    """Rows of one kind were scanned, cleaned and stored; only now do they have an id.

    `completion_chars` counts all answers: completions, or both answers of each pair. Version 1 knew
    rows with a completion alone, versions 1 and 2 no data that a checkpoint wrote.
    """

    type = "dataset.registered"
    version = 3

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
        if version not in (1, 2):
            return super().upcast(version, fields)
        return _unsampled(cls.extended(fields, holds="rows") if version == 1 else fields)


class DatasetRefused(Fact):
    """No row survived the scan, or a row that a program made repeats a sealed item, which refuses
    all that it made; nothing was stored. Version 1 knew no data that a checkpoint wrote."""

    type = "dataset.refused"
    version = 2

    source: Source
    offered: int
    dropped: dict[str, int]
    by: NodeId

    @classmethod
    def upcast(cls, version: int, fields: Mapping[str, object]) -> Mapping[str, object]:
        """See `Fact`."""
        return super().upcast(version, fields) if version != 1 else _unsampled(fields)


def _unsampled(fields: Mapping[str, object]) -> Mapping[str, object]:
    """The fields of a version whose sources knew no checkpoint that writes."""
    source = fields["source"]
    if not isinstance(source, Mapping):
        raise ValueError(f"source {source!r} is no source")
    if "sampled" in source:
        raise ValueError("a source of this version has no field 'sampled'")
    return {**fields, "source": {**source, "sampled": None}}
