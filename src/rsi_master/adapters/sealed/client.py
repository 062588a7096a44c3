"""The port `Sealed` on a process of its own, for any thread: rows do not wait for evaluations."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Self, TypeVar

from rsi_master.adapters.sealed.line import Line
from rsi_master.adapters.sealed.link import Link
from rsi_master.core.artifact import AnyRow
from rsi_master.core.errors import SealUnavailable
from rsi_master.core.model import Value
from rsi_master.core.probe import ProbeResult, Window
from rsi_master.core.score import ClaimResult, EvaluationResult, Split
from rsi_master.core.sealed import Points, ScanReport, SealedSet
from rsi_master.core.sealed_wire import (
    CHECKPOINT_FILE,
    ClaimRequest,
    EvaluateRequest,
    OpenRequest,
    PoolRequest,
    PoolRows,
    ProbeRequest,
    Request,
    ScanRequest,
    VerifiedRows,
    VerifyRequest,
)

SCAN_CHARS: Final = 1_000_000
"""Of rows that are scanned at once: seconds of a slow core."""

Content = TypeVar("Content", bound=Value)


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until a silent process is given up: from start to hello, for rows, for items."""

    start: float = 60.0
    rows: float = 120.0
    items: float = 3600.0


@dataclass(frozen=True, slots=True)
class Question(Generic[Content]):
    """A request, the kind of its answer, seconds to wait for it, files to hand over."""

    request: Request
    content: type[Content]
    seconds: float
    files: tuple[Path, ...] = ()


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
        # The kernel kills the child when the *thread* that started it ends: keep one for that.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="sealed-starter")
        self._link = self._start()

    @property
    def pid(self) -> int | None:
        """The process id, None when the process is gone."""
        return self._link.pid if self._link.alive else None

    def open(self) -> SealedSet:
        """Describe the sealed set; at first without waiting until models can be loaded."""
        if not self._link.greeted:
            return self._greeted(self._link)
        return self._ask_rows(OpenRequest(), SealedSet)

    def scan(self, rows: Sequence[AnyRow]) -> ScanReport:
        """Which rows may become data; text that is no Unicode is dropped as NOT_TEXT. Asked in
        pieces, so that no amount of text keeps others waiting or outlasts the patience."""
        seen: set[AnyRow] = set()
        kept: list[int] = []
        dropped: Counter[str] = Counter()
        for start, piece in _pieces(tuple(_readable(row) for row in rows)):
            report = self._ask_rows(ScanRequest(rows=piece), ScanReport)
            dropped.update(report.dropped)
            fresh = [at for at in report.kept if piece[at] not in seen]
            dropped["DUPLICATE"] += len(report.kept) - len(fresh)
            kept += [start + at for at in fresh]
            seen.update(piece[at] for at in fresh)
        return ScanReport(kept=tuple(kept), dropped=dict(+dropped))

    def pool(self, source: str) -> tuple[AnyRow, ...]:
        """The rows of a source."""
        return self._ask_rows(PoolRequest(source=source), PoolRows).rows

    def verify(self, rows: Sequence[AnyRow]) -> tuple[Points, ...]:
        """What the open verifier says of each row's answers."""
        request = VerifyRequest(rows=tuple(_readable(row) for row in rows))
        return self._ask_rows(request, VerifiedRows).points

    def evaluate(
        self,
        name: str,
        checkpoint: Path,
        splits: Sequence[Split],
        seconds: float | None = None,
    ) -> EvaluationResult:
        """Score the checkpoint in that folder on dev or confirm."""
        request = EvaluateRequest(name=name, splits=tuple(splits))
        return self._ask_items(request, EvaluationResult, seconds, checkpoint)

    def probe(
        self, name: str, checkpoint: Path, window: Window, seconds: float | None = None
    ) -> ProbeResult:
        """What the checkpoint in that folder answers to practice questions; `name` is for logs."""
        request = ProbeRequest(name=name, window=window)
        return self._ask_items(request, ProbeResult, seconds, checkpoint)

    def claim(
        self, name: str, champion: Path, base: Path, seconds: float | None = None
    ) -> ClaimResult:
        """Open the holdout for the checkpoints in these folders."""
        return self._ask_items(ClaimRequest(name=name), ClaimResult, seconds, champion, base)

    def restart(self) -> None:
        """End the process if it lives and start it again on the same set."""
        self._link.close()
        self._link = self._start()

    def close(self) -> None:
        """Kill the process, also while other threads wait for its answers; final."""
        self._link.close()
        self._starter.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> Link:
        return self._starter.submit(Link, self._folder, self._base, self._python).result()

    def _ask_rows(self, request: Request, content: type[Content]) -> Content:
        link = self._link
        return self._ask(link, link.rows, Question(request, content, self._patience.rows))

    def _ask_items(
        self,
        request: Request,
        content: type[Content],
        seconds: float | None,
        *checkpoints: Path,
    ) -> Content:
        link = self._link
        files = tuple(folder / CHECKPOINT_FILE for folder in checkpoints)
        limit = self._patience.items if seconds is None else seconds
        question = Question(request, content, limit, files)
        return self._ask(link, link.items, question)

    def _ask(self, link: Link, line: Line, question: Question[Content]) -> Content:
        self._greeted(link)
        with line.lock:
            if not link.alive:
                kind = question.request.kind
                raise SealUnavailable("SEALED_DIED", f"no sealed process to {kind}; restart it")
            try:
                line.send(question.request, question.files, question.seconds)
                return line.receive(question.content, question.seconds)
            except SealUnavailable:
                link.kill()
                raise
            finally:
                if line.busy:
                    link.kill()

    def _greeted(self, link: Link) -> SealedSet:
        try:
            return link.greeting(self._patience.start)
        except SealUnavailable:
            link.kill()
            raise


def _pieces(rows: tuple[AnyRow, ...]) -> Iterator[tuple[int, tuple[AnyRow, ...]]]:
    """Runs of rows of at most `SCAN_CHARS` together, or of one longer row, each with the position
    of its first; one without rows for none at all."""
    start, chars = 0, 0
    for at, row in enumerate(rows):
        size = len(row.prompt) + sum(map(len, row.answers()))
        if at > start and chars + size > SCAN_CHARS:
            yield start, rows[start:at]
            start, chars = at, 0
        chars += size
    yield start, rows[start:]


def _readable(row: AnyRow) -> AnyRow:
    return type(row)(**{field: _unicode(text) for field, text in row})


def _unicode(text: str) -> str:
    """The text with the replacement character in the place of lone surrogates."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
