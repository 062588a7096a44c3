"""The port `Sealed` in one process: the real examiner without a process around it."""

from collections.abc import Sequence
from pathlib import Path

from rsi_master.core.artifact import AnyRow
from rsi_master.core.errors import Misuse, SealUnavailable
from rsi_master.core.probe import ProbeResult, Window
from rsi_master.core.score import ClaimResult, EvaluationResult, Split
from rsi_master.core.sealed import Points, ScanReport, SealedSet
from rsi_master.core.sealed_wire import CHECKPOINT_FILE
from rsi_master.programs.sealed.examiner import Examiner
from rsi_master.programs.sealed.registry import Registry
from rsi_master.programs.sealed.vault import load


class FakeSealed:
    """Serves a sealed set from memory; `die` makes it unavailable until `restart`."""

    def __init__(self, folder: Path, base: Path) -> None:
        self._folder = folder
        self._base = base
        self._examiner: Examiner | None = None
        self.restart()

    def open(self) -> SealedSet:
        """Describe the sealed set."""
        return self._alive().open()

    def scan(self, rows: Sequence[AnyRow]) -> ScanReport:
        """Which rows may become data."""
        return self._alive().scan(tuple(rows))

    def pool(self, source: str) -> tuple[AnyRow, ...]:
        """The rows of a source."""
        return self._alive().pool(source)

    def verify(self, rows: Sequence[AnyRow]) -> tuple[Points, ...]:
        """What the open verifier says of each row's answers."""
        return self._alive().verify(tuple(rows))

    def evaluate(
        self,
        name: str,
        checkpoint: Path,
        splits: Sequence[Split],
        seconds: float | None = None,
    ) -> EvaluationResult:
        """Score the checkpoint in that folder on dev or confirm; `name` is for logs."""
        return self._alive().evaluate(tuple(splits), _weights(checkpoint))

    def probe(
        self, name: str, checkpoint: Path, window: Window, seconds: float | None = None
    ) -> ProbeResult:
        """What the checkpoint in that folder answers to practice questions; `name` is for logs."""
        return self._alive().probe(window, _weights(checkpoint))

    def claim(
        self, name: str, champion: Path, base: Path, seconds: float | None = None
    ) -> ClaimResult:
        """Open the holdout for the checkpoints in these folders."""
        examiner = self._alive()
        return examiner.claim(name, _weights(champion), _weights(base))

    def die(self) -> None:
        """Be gone, as after kill -9."""
        self._examiner = None

    def restart(self) -> None:
        """Serve again, from the files."""
        vault = load(self._folder, self._base)
        registry = Registry(self._folder, vault.manifest.public.openings)
        self._examiner = Examiner(vault, registry)

    def close(self) -> None:
        """End for good."""
        self.die()

    def _alive(self) -> Examiner:
        if self._examiner is None:
            raise SealUnavailable("SEALED_DIED", "no sealed process; restart it")
        return self._examiner


def _weights(folder: Path) -> bytes:
    try:
        return (folder / CHECKPOINT_FILE).read_bytes()
    except OSError as cause:
        raise Misuse("NO_CHECKPOINT", f"checkpoint {folder}: {cause.strerror}") from cause
