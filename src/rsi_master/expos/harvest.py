"""What an ended job left: read without following links, judged, and stored.

The job has ended and its whole process tree is gone, so nothing changes underneath. Nothing in the
folder is executed; only `model.safetensors` enters a checkpoint, every other file comes from θ_in.
"""

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from rsi_master.core.artifact import Artifact
from rsi_master.core.errors import RsiError
from rsi_master.core.experiment import CheckpointStored, ExperimentQueued, Proof, Rejection
from rsi_master.core.ports import ObjectStore, Trainer

WEIGHTS = "model.safetensors"
LOG_BYTES = 256_000
METRICS_BYTES = 64_000_000


@dataclass(frozen=True)
class Harvest:
    """Turns output folders into records."""

    objects: ObjectStore
    trainer: Trainer
    scratch: Path

    def checkpoint(
        self, queued: ExperimentQueued, fence: int, init: str, out: Path
    ) -> CheckpointStored | Rejection:
        """The stored checkpoint, or why the output is none."""
        laid = self.scratch / f"{queued.experiment}-{fence}-init"
        shutil.rmtree(laid, ignore_errors=True)
        try:
            self.objects.materialise(init, laid)
            for name in (WEIGHTS, "result.json"):
                if not plain(out / name) and (out / name).is_symlink():
                    return Rejection(code="OUTPUT_REFUSED", detail=f"{name} is no plain file")
            verdict = self.trainer.judge(queued, laid, out)
            if isinstance(verdict, Rejection):
                return verdict
            return self._store(queued, fence, verdict, laid, out)
        except RsiError as problem:
            return Rejection(code="OUTPUT_REFUSED", detail=problem.message)
        finally:
            shutil.rmtree(laid, ignore_errors=True)

    def log(self, out: Path) -> Artifact | None:
        """The end of the job's log, if it left one."""
        data = tail(out / "log.txt", LOG_BYTES)
        return self.objects.put_bytes("log", data) if data else None

    def _store(
        self, queued: ExperimentQueued, fence: int, proof: Proof, laid: Path, out: Path
    ) -> CheckpointStored:
        (laid / WEIGHTS).unlink(missing_ok=True)
        shutil.copyfile(out / WEIGHTS, laid / WEIGHTS, follow_symlinks=False)
        adapter = out / "adapter"
        adapted = adapter.is_dir() and not adapter.is_symlink()
        return CheckpointStored(
            experiment=queued.experiment,
            fence=fence,
            artifact=self.objects.put_folder("checkpoint", laid),
            proof=proof,
            adapter=self.objects.put_folder("checkpoint", adapter) if adapted else None,
            metrics=self.objects.put_bytes("metrics", tail(out / "metrics.jsonl", METRICS_BYTES)),
        )


def plain(path: Path) -> bool:
    """Whether the path is a regular file with one name, and no link."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_nlink == 1


def tail(path: Path, limit: int) -> bytes:
    """The last bytes of a plain file; nothing of anything else."""
    if not plain(path):
        return b""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        file.seek(max(0, os.fstat(descriptor).st_size - limit))
        return file.read(limit)
