"""One job as the local engine sees it, and the rules for when it is overdue and how it ended."""

import socket
from dataclasses import dataclass
from pathlib import Path

from rsi_master.core.job import Ending, Job, JobStatus, Program
from rsi_master.core.warm import Ended, JobTier

_TAIL_BYTES = 4096
_TAIL_CHARACTERS = 300
_HEARTBEATS = ("metrics.jsonl", "log.txt")


@dataclass
class Attempt:
    """Times are monotonic seconds.

    `reason` is set by whoever orders the kill; `position` is a small number that no other running
    attempt has. `link` is the process's end of the line between a job and its judge; of a judge,
    `judged` is the attempt that asks it, and `then` how that one ended meanwhile.
    """

    job: Job
    program: Program
    folder: Path
    devices: tuple[str, ...]
    position: int
    sent: float | None = None
    group: int | None = None
    started: float | None = None
    entered: bool = False
    beat: float = 0.0
    beat_size: int = -1
    reason: Ending | None = None
    killed_at: float | None = None
    ended: JobStatus | None = None
    link: socket.socket | None = None
    judged: "Attempt | None" = None
    then: tuple[Ending, str] | None = None

    @property
    def out(self) -> Path:
        """The folder that the job may write."""
        return self.folder / "out"

    def status(self, now: float, tier: JobTier) -> JobStatus:
        """What is known now."""
        if self.ended is not None:
            return self.ended
        return JobStatus(
            name=self.job.name,
            state="running",
            tier=tier if self.entered else None,
            seconds=self.elapsed(now),
            devices=self.devices,
        )

    def elapsed(self, now: float) -> float:
        """Seconds since the job was forked."""
        return 0.0 if self.started is None else now - self.started

    def fork_seen(self, group: int, now: float) -> None:
        """The process group exists; the clocks start."""
        self.group, self.started, self.beat = group, now, now

    def overdue(self, now: float) -> Ending | None:
        """`timeout` or `stalled` when a limit is passed. Looks at the heartbeat files' sizes."""
        if self.started is None:
            return None
        if self.elapsed(now) > self.job.resources.seconds:
            return "timeout"
        size = sum(_size(self.out / name) for name in _HEARTBEATS)
        if size != self.beat_size:
            self.beat, self.beat_size = now, size
        return "stalled" if now - self.beat > self.job.resources.stall_seconds else None

    def finish(self, ending: Ending, detail: str, now: float, tier: JobTier) -> None:
        """The job is gone; the first finish counts."""
        running = self.status(now, tier)
        if running.state == "running":
            update = {"state": "ended", "ending": ending, "detail": detail}
            self.ended = running.model_copy(update=update)

    def judge(self, notice: Ended) -> tuple[Ending, str]:
        """Ending and detail of a job that the warm parent says is gone."""
        if notice.outcome == "refused":
            return "refused", notice.detail
        if self.reason is not None and notice.outcome == "signalled":
            return self.reason, _LIMIT_TEXT[self.reason].format(self.job.resources)
        if not self.entered:
            return "refused", "the job's process ended before its confinement was complete"
        if notice.outcome == "signalled":
            return "killed", f"signal {notice.code}"
        if notice.code != 0:
            return "crashed", f"exit code {notice.code}: {_last_line(self.out / 'log.txt')}"
        if _size(self.out / "result.json") <= 0:
            return "crashed", "exit code 0 without out/result.json"
        return "ok", ""


_LIMIT_TEXT: dict[Ending, str] = {
    "timeout": "over its limit of {0.seconds:g} s",
    "stalled": "no sign of life for {0.stall_seconds:g} s",
    "cancelled": "on request",
    "refused": "its judge's confinement did not hold, see warm.log in the spool folder",
    "lost": "the process of its judge was lost, see warm.log in the spool folder",
}


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _last_line(log: Path) -> str:
    """The last line of the log: text of the job, cut and stripped of control characters."""
    if log.is_symlink() or not log.is_file():
        return "no log"
    with log.open("rb") as file:
        file.seek(max(0, _size(log) - _TAIL_BYTES))
        lines = file.read(_TAIL_BYTES).decode("utf-8", "replace").split("\n")
    last = next((one.strip() for one in reversed(lines) if one.strip()), "empty log")
    return "".join(c for c in last if c.isprintable())[:_TAIL_CHARACTERS]
