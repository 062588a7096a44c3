"""Decontamination by canonical exact match: which rows may become training data.

Found: a sealed prompt or its stem as a field or inside one, or across the two fields; a long
sealed answer. Case, width, spacing, punctuation and invisible characters do not hide it.
Not found: paraphrase, translation, another notation of numbers, look-alike letters.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from rsi_master.core.artifact import Row
from rsi_master.core.sealed import ScanReport
from rsi_master.programs.sealed.benchmark import Item

Reason = Literal[
    "SEALED_PROMPT",
    "SEALED_ANSWER",
    "NOT_TEXT",
    "CONTROL_TOKEN",
    "EMPTY_COMPLETION",
    "DUPLICATE",
]

WHOLE_FIELD = 6
CONTAINED = 16
CONTAINED_WORDS = 4
ANSWER = 24
_REPLACEMENT = "\ufffd"


def words(text: str) -> tuple[str, ...]:
    """The runs of letters and digits, folded; invisible characters do not part a word."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (c if c.isalnum() else " " for c in folded if unicodedata.category(c) not in _INVISIBLE)
    return tuple("".join(kept).split())


_INVISIBLE = frozenset({"Cf", "Mn", "Me"})


class _Contained:
    """Long patterns, found at any place of a text: by their first characters, then in full."""

    def __init__(self, patterns: Iterable[str], shortest: int) -> None:
        self._shortest = shortest
        self._by_head: dict[str, list[str]] = defaultdict(list)
        for pattern in patterns:
            if len(pattern) >= shortest:
                self._by_head[pattern[:shortest]].append(pattern)

    def found(self, text: str) -> bool:
        size, heads = self._shortest, self._by_head
        return any(
            text.startswith(pattern, start) and not _cuts_number(text, start, start + len(pattern))
            for start in range(len(text) - size + 1)
            for pattern in heads.get(text[start : start + size], ())
        )


def _cuts_number(text: str, start: int, end: int) -> bool:
    """Whether a border of the match lies within a run of digits: another number, another text."""
    return any(text[max(0, at - 1) : at + 1].isdigit() for at in (start, end) if 0 < at < len(text))


class Scanner:
    """An index over all sealed items, and the marks that text must not bear."""

    def __init__(self, items: Collection[Item], control_tokens: Collection[str]) -> None:
        prompts = {words(text) for item in items for text in (item.prompt, item.stem)}
        joined = {"".join(prompt) for prompt in prompts}
        self._whole = {text for text in joined if len(text) >= WHOLE_FIELD}
        self._inside = _Contained(joined, CONTAINED)
        self._phrases: dict[int, set[tuple[str, ...]]] = defaultdict(set)
        for prompt in prompts:
            if len(prompt) >= CONTAINED_WORDS:
                self._phrases[len(prompt)].add(prompt)
        answers = {"".join(words(item.reference)) for item in items}
        self._answers = _Contained(answers, ANSWER)
        self._control = tuple(control_tokens)

    def scan(self, rows: Sequence[Row]) -> ScanReport:
        """Positions of the rows to keep, and drops by the first reason that holds."""
        seen: set[tuple[str, str]] = set()
        kept: list[int] = []
        dropped: Counter[str] = Counter()
        for position, row in enumerate(rows):
            reason = self._reason(row, seen)
            if reason is None:
                kept.append(position)
                seen.add((row.prompt, row.completion))
            else:
                dropped[reason] += 1
        return ScanReport(kept=tuple(kept), dropped=dict(dropped))

    def _reason(self, row: Row, seen: Collection[tuple[str, str]]) -> Reason | None:
        """Sealed text comes first: no other fault of a row may hide it."""
        both = row.prompt + row.completion
        fields = [words(text) for text in (row.prompt, row.completion, both)]
        if any(self._holds_prompt(field) for field in fields):
            return "SEALED_PROMPT"
        if any(self._answers.found("".join(field)) for field in fields):
            return "SEALED_ANSWER"
        if any(char == _REPLACEMENT or unicodedata.category(char) == "Cs" for char in both):
            return "NOT_TEXT"
        if any(_is_control(char) for char in both) or any(mark in both for mark in self._control):
            return "CONTROL_TOKEN"
        if not row.completion.strip():
            return "EMPTY_COMPLETION"
        return "DUPLICATE" if (row.prompt, row.completion) in seen else None

    def _holds_prompt(self, field: tuple[str, ...]) -> bool:
        joined = "".join(field)
        if joined in self._whole or self._inside.found(joined):
            return True
        return any(
            field[start : start + size] in phrases
            for size, phrases in self._phrases.items()
            for start in range(len(field) - size + 1)
        )


def _is_control(char: str) -> bool:
    return unicodedata.category(char) == "Cc" and char not in "\n\t"
