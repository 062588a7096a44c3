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
from rsi_master.core.errors import Broken, RsiError
from rsi_master.core.experiment import CheckpointStored, ExperimentQueued, Proof, Rejection
from rsi_master.core.ports import ObjectStore, Trainer
from rsi_master.expos.tree import remove_tree

WEIGHTS = "model.safetensors"
# What a checkpoint consists of; a card or list of digests of θ_in would be false beside θ_out.
CHECKPOINT_FILES = frozenset(
    {
        WEIGHTS,
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "merges.txt",
        "chat_template.jinja",
    }
)
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
        remove_tree(laid)
        try:
            self.objects.materialise(init, laid)
            for name in (WEIGHTS, "result.json"):
                if os.path.lexists(out / name) and not plain(out / name):
                    return Rejection(code="OUTPUT_REFUSED", detail=f"{name} is no plain file")
            verdict = self._verdict(queued, laid, out)
            if isinstance(verdict, Rejection):
                return verdict
            return self._store(queued, fence, verdict, laid, out)
        except RsiError as problem:
            return Rejection(code="OUTPUT_REFUSED", detail=problem.message)
        except OSError as problem:
            detail = f"the output cannot be copied: {problem.strerror or type(problem).__name__}"
            return Rejection(code="OUTPUT_REFUSED", detail=detail)
        finally:
            remove_tree(laid)

    def log(self, out: Path) -> Artifact | None:
        """The end of the job's log, if it left one."""
        data = tail(out / "log.txt", LOG_BYTES)
        return self.objects.put_bytes("log", data) if data else None

    def _verdict(self, queued: ExperimentQueued, laid: Path, out: Path) -> Proof | Rejection:
        """The boundary to installed recipes: whatever they raise, the output is rejected."""
        try:
            verdict = self.trainer.judge(queued, laid, out)
            if not isinstance(verdict, Proof | Rejection):
                raise TypeError(f"{type(verdict).__name__} is no verdict")
        except Exception as problem:  # noqa: BLE001 - the boundary: a recorded rejection
            told = str(problem).replace(str(out), "out").replace(str(laid), "init")
            detail = f"the output could not be judged: {type(problem).__name__}: {told}"
            return Rejection(code="JUDGE_FAILED", detail=detail[:500])
        return verdict

    def _store(
        self, queued: ExperimentQueued, fence: int, proof: Proof, laid: Path, out: Path
    ) -> CheckpointStored:
        (laid / WEIGHTS).unlink(missing_ok=True)
        for name in laid.iterdir():
            if name.name not in CHECKPOINT_FILES:
                name.unlink()
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


def last_sign(out: Path) -> float:
    """When the job last wrote its metrics or log, in seconds since the epoch; 0 without either."""
    found = [out / name for name in ("metrics.jsonl", "log.txt") if plain(out / name)]
    return max((path.lstat().st_mtime for path in found), default=0.0)


def plain(path: Path) -> bool:
    """Whether the path is a regular file with one name, and no link."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_nlink == 1


def whole(path: Path, limit: int) -> bytes:
    """All bytes of a plain file; raises Broken for anything else, and for more than `limit`."""
    if not plain(path):
        raise Broken("OUTPUT_REFUSED", f"the job left no plain file {path.name}")
    try:
        descriptor = _open(path)
    except OSError as cause:
        why = cause.strerror or type(cause).__name__
        raise Broken("OUTPUT_REFUSED", f"{path.name} cannot be read: {why}") from cause
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Broken("OUTPUT_REFUSED", f"{path.name} has over {limit:,} bytes")
    return data


def tail(path: Path, limit: int) -> bytes:
    """The last bytes of a plain file; nothing of anything else, nor of what may not be read."""
    if not plain(path):
        return b""
    try:
        descriptor = _open(path)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        file.seek(max(0, os.fstat(descriptor).st_size - limit))
        return file.read(limit)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
