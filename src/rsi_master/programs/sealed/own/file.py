"""Reading the file of a benchmark: every row is as it should be, or the first flaw is told.

A byte order mark, CRLF line ends and empty lines are no flaws. Nothing else is repaired: what is
sealed is what stands in the file.
"""

import json
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

from rsi_master.core.errors import Misuse
from rsi_master.core.model import Value
from rsi_master.core.text import escaped
from rsi_master.programs.own.reading import answer_of
from rsi_master.programs.sealed.own import sameness
from rsi_master.programs.sealed.scanner import words

LIMIT: Final = 32 << 20
"""Bytes of a file: its rows travel in one message."""
TASK: Final = "own"
"""The task of rows that name none."""
_SHOWN: Final = 60
_NAMED: Final = 8
_DIGITS: Final = 1000
_FIELDS: Final = ("prompt", "answer")


class Entry(Value):
    """A question of the file with its answer, in the row of that number, counted from 1."""

    number: int
    task: str
    prompt: str
    answer: str

    def key(self) -> str:
        """What it has in common with entries that ask the same."""
        return sameness.key(self.prompt)


class BadFile(Misuse):
    """The file of a benchmark cannot be used; the message tells row, value and fix. Whoever knows
    its name puts that before."""

    def __init__(self, message: str) -> None:
        super().__init__("BENCHMARK_FILE", message)


def read(path: Path) -> bytes:
    """The bytes of a file of at most `LIMIT`; raises BadFile."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise BadFile("it is a folder; name a JSONL file")
        if not stat.S_ISREG(status.st_mode):
            raise BadFile("it is no plain file; name a JSONL file")
        with path.open("rb") as file:
            data = file.read(LIMIT + 1)
    except OSError as cause:
        raise BadFile(f"it cannot be read: {cause.strerror}; name a JSONL file") from cause
    if len(data) > LIMIT:
        size = max(status.st_size, len(data))
        raise BadFile(f"it has {size:,} bytes; at most {LIMIT:,} are taken, so give fewer rows")
    return data


def parse(data: bytes) -> tuple[Entry, ...]:
    """The entries of a file without rows that repeat one before them; raises BadFile."""
    found: dict[str, Entry] = {}
    for number, line in _lines(data):
        entry = _entry(number, line)
        same = " ".join(unicodedata.normalize("NFC", entry.prompt).split())
        first = found.setdefault(same, entry)
        if answer_of(first.answer) != answer_of(entry.answer):
            raise BadFile(
                f"row {number}: prompt {shown(entry.prompt)} has answer {shown(entry.answer)}, "
                f"in row {first.number} it has {shown(first.answer)}; leave one of them"
            )
    if not found:
        raise BadFile("it holds no rows; write one JSON object a line, with prompt and answer")
    return tuple(found.values())


def shown(text: str) -> str:
    """A value as it stands in a message, every letter of it to be seen."""
    cut = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return escaped(json.dumps(cut, ensure_ascii=False))


def _lines(data: bytes) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        try:
            text = line.decode("utf-8").strip()
        except UnicodeDecodeError as cause:
            byte = cause.object[cause.start]
            raise BadFile(
                f"row {number}: byte {cause.start + 1} (0x{byte:02x}) is not UTF-8; save the file "
                "as UTF-8"
            ) from cause
        if text:
            yield number, text


def _entry(number: int, line: str) -> Entry:
    row = _object(number, line)
    for name in _FIELDS:
        if name not in row:
            some = ", ".join(map(shown, list(row)[:_NAMED])) or "nothing"
            there = f"{some} …" if len(row) > _NAMED else some
            raise BadFile(f'row {number}: field "{name}" is missing; it has {there}; add it')
    fields = {name: _text(number, name, row[name]) for name in _FIELDS}
    task = _task(number, row.get("task", TASK))
    if not answer_of(fields["answer"]):
        raise BadFile(
            f'row {number}: field "answer" is {shown(fields["answer"])}, which gives no answer; '
            "write the answer after its marker, or remove the row"
        )
    return Entry(number=number, task=task, **fields)


def _object(number: int, line: str) -> dict[str, object]:
    try:
        row = json.loads(line, object_pairs_hook=_once, parse_constant=_refuse, parse_int=_whole)
    except (ValueError, RecursionError) as cause:
        raise BadFile(
            f"row {number}: {shown(line)} is not JSON: {cause}; write one object a line"
        ) from cause
    if not isinstance(row, dict):
        kind = _kind(row)
        raise BadFile(
            f"row {number}: {shown(line)} is {kind}, no object; write one object a line, as "
            '{"prompt": "2 + 2", "answer": "4"}'
        )
    return row


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a field stands twice")
    return row


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no JSON")


def _whole(digits: str) -> int | Decimal:
    """A number of any length: Python makes no whole one of very many digits."""
    return int(digits) if len(digits) <= _DIGITS else Decimal(digits)


def _text(number: int, name: str, value: object) -> str:
    if not isinstance(value, str):
        told = shown(_written(value)).strip('"')
        raise BadFile(
            f'row {number}: field "{name}" is {told}, {_kind(value)}; write text in quotation marks'
        )
    text = value.replace("\r\n", "\n")
    odd = next((char for char in text if _is_odd(char)), None)
    if odd is not None:
        raise BadFile(
            f'row {number}: field "{name}" holds U+{ord(odd):04X}, which is no text; remove it'
        )
    if not words(text) and not text.strip():
        raise BadFile(f'row {number}: field "{name}" is empty; fill it in, or remove the row')
    return text


def _written(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _task(number: int, value: object) -> str:
    task = _text(number, "task", value)
    if len(task) > _SHOWN or not task.isprintable() or task != task.strip():
        raise BadFile(
            f'row {number}: field "task" is {shown(task)}; a task is named in one line of at most '
            f"{_SHOWN} characters, without space around it"
        )
    return task


def _is_odd(char: str) -> bool:
    """Half a surrogate pair, the mark of a lost character, a control character."""
    if char == "\ufffd":
        return True
    return unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t"


def _kind(value: object) -> str:
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        Decimal: "a number",
        list: "a list",
    }
    return "nothing" if value is None else kinds.get(type(value), "an object")
