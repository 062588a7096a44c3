"""What the Experiment OS asks of the parts behind it. Adapters implement these; fakes too."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from rsi_master.core.artifact import AnyRow, Artifact, Kind
from rsi_master.core.experiment import ExperimentQueued, Proof, Rejection
from rsi_master.core.job import Job, JobClass, JobStatus
from rsi_master.core.probe import ProbeResult, Window
from rsi_master.core.score import ClaimResult, EvaluationResult, Split
from rsi_master.core.sealed import Points, ScanReport, SealedSet


class Clock(Protocol):
    """Time; injected so that tests own it."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never step back."""


class Ids(Protocol):
    """Fresh uuid7 texts."""

    def fresh(self) -> str:
        """A new id, sortable by time of birth."""


class EventStore(Protocol):
    """The append-only table. One writer; readers open it read-only.

    A crash loses at most the batch that `append` has not returned for.
    """

    def append(self, bodies: Sequence[bytes]) -> None:
        """Write the exact bytes, all or none, durable on return. Positions are consecutive."""

    def read(self, start: int = 0) -> Iterator[bytes]:
        """The bodies from position `start` on, in order."""

    def size(self) -> int:
        """How many bodies are stored."""

    def close(self) -> None:
        """Release the file."""


class ObjectStore(Protocol):
    """Bytes by digest. Durable on return; a digest never names two contents."""

    def put_bytes(self, kind: Kind, data: bytes) -> Artifact:
        """Store one blob."""

    def put_folder(self, kind: Kind, folder: Path) -> Artifact:
        """Store a folder of plain files as a manifest of blobs; refuses links and other kinds."""

    def get_bytes(self, digest: str) -> bytes:
        """The blob; raises Finding when it is missing or its bytes do not match."""

    def files(self, digest: str) -> dict[str, str]:
        """Name to blob digest of a folder artifact."""

    def materialise(self, digest: str, target: Path) -> None:
        """Lay the artifact (blob or folder) at `target`, read-only."""

    def check(self, digest: str) -> str | None:
        """None when present and sound, else what is wrong in a few words."""


class Compute(Protocol):
    """An engine that runs jobs by name. It never retries and forgets nothing while it lives."""

    def submit(self, job: Job) -> None:
        """Start the job; a name that is known already is left as it is."""

    def poll(self, name: str) -> JobStatus:
        """State now; `unknown` when the engine never heard of it or lost it."""

    def wait(self, seconds: float) -> bool:
        """Block until some job ends or the time is over; true when one ended."""

    def cancel(self, name: str) -> None:
        """Kill the whole process tree of the job."""

    def free_devices(self, job_class: JobClass = "recipe") -> int:
        """Devices without a lease that a job of the class may have: one of class `code` has a CPU
        slot and never a GPU. What a lease outside a job takes is counted as for `recipe`."""

    def lease(self, name: str) -> tuple[str, ...]:
        """Take one device for work outside a job, such as generation; Broken if none is free."""

    def release(self, name: str) -> None:
        """Give back what `lease` took; an unknown name does nothing."""

    def output(self, name: str) -> Path:
        """The folder that the job may have written."""

    def close(self) -> None:
        """Kill what runs, release everything."""


class Trainer(Protocol):
    """What the training domain knows of an attempt: its job, and whether its output is proof."""

    def job(
        self, experiment: ExperimentQueued, name: str, parents: Sequence[str], seconds: float
    ) -> Job:
        """The self-contained job of an attempt; `parents` are the digests of θ_in and of what is
        merged with it, `seconds` a limit."""

    def judge(self, experiment: ExperimentQueued, init: Path, out: Path) -> Proof | Rejection:
        """Re-read the output folder; θ_in lies at `init`. Nothing in it is executed."""


class Sealed(Protocol):
    """The sealed process as seen from the owner. Items and references never come back.

    Every method blocks and raises SealUnavailable when the process died; `restart` brings it back.
    """

    def open(self) -> SealedSet:
        """Describe the sealed set: digest, sizes by split, protocol digest."""

    def scan(self, rows: Sequence[AnyRow]) -> ScanReport:
        """Which rows may become data; positions of the kept ones and drops by reason."""

    def pool(self, source: str) -> tuple[AnyRow, ...]:
        """The rows of a source, as found: not scanned yet. Raises Misuse for an unknown one."""

    def verify(self, rows: Sequence[AnyRow]) -> tuple[Points, ...]:
        """What the benchmark's open verifier says of each row's answers, in order. It knows no
        sealed question. Raises Misuse (`NO_VERIFIER`) where the benchmark has none."""

    def evaluate(
        self,
        name: str,
        checkpoint: Path,
        splits: Sequence[Split],
        seconds: float | None = None,
    ) -> EvaluationResult:
        """Generate with `checkpoint/model.safetensors` and grade; dev and confirm only.

        After `seconds` the process is given up with SealUnavailable.
        """

    def probe(
        self, name: str, checkpoint: Path, window: Window, seconds: float | None = None
    ) -> ProbeResult:
        """What `checkpoint/model.safetensors` answers to open practice questions.

        Raises Misuse where the window holds none or the weights do not fit. After `seconds` the
        process is given up with SealUnavailable.
        """

    def claim(
        self, name: str, champion: Path, base: Path, seconds: float | None = None
    ) -> ClaimResult:
        """Open the holdout for champion and base, counted before it happens.

        The same name with the same weights is the same opening; raises PolicyDenied (`EXAM_SPENT`)
        when all openings of the set belong to others, Misuse when `base` is not the pinned one.
        """

    def restart(self) -> None:
        """End the process if it lives and start it again on the same set."""

    def close(self) -> None:
        """End the process."""
