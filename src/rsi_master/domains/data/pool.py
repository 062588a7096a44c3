"""Registering rows: scan, drop, store, and only then an id."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from pydantic import ValidationError

from rsi_master.core.artifact import ROW, AnyRow, kind_of
from rsi_master.core.canonical import encode
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.errors import Misuse
from rsi_master.core.ports import ObjectStore, Sealed
from rsi_master.core.sealed import Points
from rsi_master.expos.screen import repeats

VERIFIED_AT_ONCE = 256
Keep: TypeAlias = Literal["once", "copies", "whole"]
"""What stays of rows: equal ones once, or as often as they were offered; or once and all or none,
since which rows are left would tell whoever wrote them what is a sealed item."""


def render(rows: Iterable[AnyRow]) -> bytes:
    """The bytes that the trainer reads: one canonical JSON object per line."""
    return b"".join(encode(row.model_dump(mode="json")) + b"\n" for row in rows)


def parse(data: bytes, start: int = 0, count: int | None = None) -> tuple[AnyRow, ...]:
    """Rows of rendered bytes, a window of them; raises Misuse naming the line."""
    lines = data.splitlines()
    stop = len(lines) if count is None else min(len(lines), start + count)
    rows = []
    for number in range(start, stop):
        try:
            rows.append(ROW.validate_json(lines[number]))
        except ValidationError as cause:
            raise Misuse(
                "ROW_UNREADABLE", f"row {number + 1} is no row, no prompt and no pair"
            ) from cause
    return tuple(rows)


def points(rows: Sequence[AnyRow], sealed: Sealed) -> Iterator[Points]:
    """What the open verifier says of each row's answers. It is asked about few rows at once, so
    that a slow one keeps no scan waiting."""
    for start in range(0, len(rows), VERIFIED_AT_ONCE):
        yield from sealed.verify(rows[start : start + VERIFIED_AT_ONCE])


def register(
    rows: Sequence[AnyRow],
    source: Source,
    by: str,
    sealed: Sealed,
    objects: ObjectStore,
    keep: Keep = "once",
) -> DatasetRegistered | DatasetRefused:
    """Scan the rows and store what is left, which is of one kind. What was dropped never touches
    the run folder; of a `whole`, one row that repeats a sealed item refuses all."""
    copies = keep == "copies"
    scanned = tuple(dict.fromkeys(rows)) if copies else rows
    report = sealed.scan(scanned)
    kept = [scanned[position] for position in report.kept]
    if copies:
        fit = frozenset(kept)
        kept = [row for row in rows if row in fit]
    if not kept or (keep == "whole" and repeats(report)):
        return DatasetRefused(source=source, offered=len(rows), dropped=report.dropped, by=by)
    holds = kind_of(source.origin, kept)
    return DatasetRegistered(
        artifact=objects.put_bytes("dataset", render(kept)),
        source=source,
        holds=holds,
        rows=len(kept),
        offered=len(kept) + sum(report.dropped.values()),
        dropped=report.dropped,
        completion_chars=sum(len(answer) for row in kept for answer in row.answers()),
        prompt_chars=sum(len(row.prompt) for row in kept),
        by=by,
    )
