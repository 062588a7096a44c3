"""The port `Sealed` on a process of its own; one request at a time, from any thread."""

import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from rsi_master.adapters.sealed.link import Link
from rsi_master.core.artifact import Row
from rsi_master.core.errors import SealUnavailable
from rsi_master.core.model import Value
from rsi_master.core.score import ClaimResult, EvaluationResult, Split
from rsi_master.core.sealed import ScanReport, SealedSet
from rsi_master.core.sealed_wire import (
    CHECKPOINT_FILE,
    ClaimRequest,
    EvaluateRequest,
    OpenRequest,
    PoolRequest,
    PoolRows,
    Request,
    ScanRequest,
)

Content = TypeVar("Content", bound=Value)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a silent process is given up: from start to hello, for rows, for items."""

    start: float = 60.0
    rows: float = 120.0
    items: float = 3600.0


class SealedProcess:
    """Starts `python -I -m rsi_master.programs.sealed serve`; the first call waits until it is up.

    After SealUnavailable the process is gone; every later call raises it too until `restart`.
    """

    def __init__(
        self,
        folder: Path,
        base: Path,
        *,
        patience: Patience | None = None,
        python: str = sys.executable,
    ) -> None:
        self._folder = folder
        self._base = base
        self._patience = patience or Patience()
        self._python = python
        self._lock = threading.Lock()
        # The kernel kills the child when the *thread* that started it ends: keep one for that.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sealed-starter")
        self._greeted = False
        self._link: Link | None = self._start()

    @property
    def pid(self) -> int | None:
        """The process id, None when the process is gone."""
        link = self._link
        return link.pid if link and link.alive else None

    def open(self) -> SealedSet:
        """Describe the sealed set; at first without waiting until models can be loaded."""
        with self._lock:
            if self._link is not None and not self._greeted:
                return self._greeting(self._link)
        return self._ask(OpenRequest(), SealedSet, self._patience.rows)

    def scan(self, rows: Sequence[Row]) -> ScanReport:
        """Which rows may become data; text that is no Unicode is dropped as NOT_TEXT."""
        request = ScanRequest(rows=tuple(_readable(row) for row in rows))
        return self._ask(request, ScanReport, self._patience.rows)

    def pool(self, source: str) -> tuple[Row, ...]:
        """The rows of a source."""
        return self._ask(PoolRequest(source=source), PoolRows, self._patience.rows).rows

    def evaluate(self, name: str, checkpoint: Path, splits: Sequence[Split]) -> EvaluationResult:
        """Score the checkpoint in that folder on dev or confirm."""
        request = EvaluateRequest(name=name, splits=tuple(splits))
        files = (checkpoint / CHECKPOINT_FILE,)
        return self._ask(request, EvaluationResult, self._patience.items, files)

    def claim(self, name: str, champion: Path, base: Path) -> ClaimResult:
        """Open the holdout for the checkpoints in these folders."""
        files = (champion / CHECKPOINT_FILE, base / CHECKPOINT_FILE)
        return self._ask(ClaimRequest(name=name), ClaimResult, self._patience.items, files)

    def restart(self) -> None:
        """End the process if it lives and start it again on the same set."""
        with self._lock:
            self._drop()
            self._link = self._start()

    def close(self) -> None:
        """Kill the process, also while another thread waits for its answer; final."""
        link = self._link
        if link:
            link.kill()
        with self._lock:
            self._drop()
        self._starter.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> Link:
        self._greeted = False
        return self._starter.submit(Link, self._folder, self._base, self._python).result()

    def _ask(
        self,
        request: Request,
        content: type[Content],
        seconds: float,
        files: tuple[Path, ...] = (),
    ) -> Content:
        with self._lock:
            link = self._link
            if link is None:
                raise SealUnavailable(
                    "SEALED_DIED", f"no sealed process to {request.kind} with; restart it"
                )
            if not self._greeted:
                self._greeting(link)
            try:
                link.send(request, files, seconds)
                return link.receive(content, seconds)
            finally:
                if link.busy:
                    self._drop()

    def _greeting(self, link: Link) -> SealedSet:
        """The first frame, which nobody asked for."""
        try:
            described = link.receive(SealedSet, self._patience.start)
        except SealUnavailable:
            self._drop()
            raise
        self._greeted = True
        return described

    def _drop(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None


def _readable(row: Row) -> Row:
    return Row(prompt=_unicode(row.prompt), completion=_unicode(row.completion))


def _unicode(text: str) -> str:
    """The text with the replacement character in the place of lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
