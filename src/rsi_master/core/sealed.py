"""What the sealed process tells: a commitment to its items, and answers without them."""

from typing import Literal, TypeAlias

from rsi_master.core.artifact import Digest
from rsi_master.core.model import Value
from rsi_master.core.score import Split

Bucket = Literal["none", "few", "some", "many"]
Points: TypeAlias = tuple[float | None, ...]
"""Of the answers of a row, in their order: points in 0..1, None where the verifier knows none."""


class SealedSet(Value):
    """A sealed set by its salted digest; `protocol` covers template, decoding, grader and stops.

    `base` is the digest of the base's tensors; `openings` is how often the holdout may be claimed.
    `verifier` is the benchmark's open verifier as `module:function`, which jobs may import;
    `practice` counts open questions, which belong to no split. `suite` is the digest of the
    benchmark's own source, which figures published for it name.
    """

    benchmark: str
    digest: Digest
    protocol: Digest
    base: Digest
    openings: int
    sizes: dict[Split, int]
    tasks: tuple[str, ...]
    sources: tuple[str, ...]
    verifier: str | None = None
    practice: int = 0
    suite: Digest | None = None


class ScanReport(Value):
    """Which rows may become data: positions of the kept ones, and drops by reason."""

    kept: tuple[int, ...]
    dropped: dict[str, int]

    def bucket(self) -> Bucket:
        """The coarse answer that an agent gets about how much was dropped."""
        total = sum(self.dropped.values())
        share = total / max(1, total + len(self.kept))
        if total == 0:
            return "none"
        return "few" if share < 0.01 else "some" if share < 0.1 else "many"
