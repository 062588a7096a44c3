"""Decontamination by canonical exact match: which rows may become training data.

Found: a sealed prompt or its stem as a field or inside one, or across a prompt and an answer to
it; a long sealed answer. Case, width, spacing, punctuation and invisible characters do not hide it.
Not found: paraphrase, translation, another notation of numbers, look-alike letters. Rows that are
no text, bear control tokens or teach nothing are dropped too, each under the first `Reason`.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from rsi_master.core.artifact import AnyRow
from rsi_master.core.sealed import ScanReport
from rsi_master.programs.sealed.benchmark import Question

Reason = Literal[
    "SEALED_PROMPT",
    "SEALED_ANSWER",
    "NOT_TEXT",
    "CONTROL_TOKEN",
    "EMPTY_PROMPT",
    "EMPTY_COMPLETION",
    "NO_PREFERENCE",
    "DUPLICATE",
]

WHOLE_FIELD = 6
CONTAINED = 16
# Word by word a phrase of four is no chance, nor is one of three with so many characters.
PHRASE_WORDS = 4
SHORT_PHRASE_WORDS = 3
SHORT_PHRASE = 10
ANSWER = 24
_REPLACEMENT = "\ufffd"


def words(text: str) -> tuple[str, ...]:
    """The runs of letters and digits, folded; invisible characters do not part a word."""
    if text.isascii():
        return tuple(_ASCII_WORD.findall(text.lower()))
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (c if c.isalnum() else " " for c in folded if unicodedata.category(c) not in _INVISIBLE)
    return tuple("".join(kept).split())


_ASCII_WORD = re.compile("[a-z0-9]+")
_INVISIBLE = frozenset({"Cf", "Mn", "Me"})
# Letters, marks and symbols that show nothing: a joiner, Hangul fillers, Khmer vowels, the empty
# Braille pattern; and selectors of a letter's variant.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))


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

    def __init__(self, items: Collection[Question], control_tokens: Collection[str]) -> None:
        prompts = {words(text) for item in items for text in (item.prompt, item.stem)}
        joined = {"".join(prompt) for prompt in prompts}
        self._whole = {text for text in joined if len(text) >= WHOLE_FIELD}
        self._inside = _Contained(joined, CONTAINED)
        self._phrases: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        for prompt in prompts:
            if _is_phrase(prompt):
                self._phrases[prompt[0]].append(prompt)
        answers = {"".join(words(item.reference)) for item in items}
        self._answers = _Contained(answers, ANSWER)
        self._control = tuple(control_tokens)

    def scan(self, rows: Sequence[AnyRow]) -> ScanReport:
        """Positions of the rows to keep, and drops by the first reason that holds."""
        seen: set[AnyRow] = set()
        kept: list[int] = []
        dropped: Counter[str] = Counter()
        for position, row in enumerate(rows):
            reason = self._reason(row, seen)
            if reason is None:
                kept.append(position)
                seen.add(row)
            else:
                dropped[reason] += 1
        return ScanReport(kept=tuple(kept), dropped=dict(dropped))

    def asks(self, text: str) -> bool:
        """Whether the text repeats a sealed question."""
        return self._holds_prompt(words(text))

    def _reason(self, row: AnyRow, seen: Collection[AnyRow]) -> Reason | None:
        """Sealed text comes first: no other fault of a row may hide it."""
        answers = row.answers()
        said = [row.prompt + answer for answer in answers] or [row.prompt]
        fields = [words(text) for text in dict.fromkeys((row.prompt, *answers, *said))]
        if any(self._holds_prompt(field) for field in fields):
            return "SEALED_PROMPT"
        if any(self._answers.found("".join(field)) for field in fields):
            return "SEALED_ANSWER"
        return _unfit(said, self._control) or _idle(row, answers, seen)

    def _holds_prompt(self, field: tuple[str, ...]) -> bool:
        joined = "".join(field)
        if joined in self._whole or self._inside.found(joined):
            return True
        return any(
            field[start : start + len(phrase)] == phrase
            for start, word in enumerate(field)
            for phrase in self._phrases.get(word, ())
        )


def _is_phrase(prompt: Sequence[str]) -> bool:
    """Whether the words in this order are a question wherever they stand."""
    long = sum(map(len, prompt)) >= SHORT_PHRASE
    return len(prompt) >= (SHORT_PHRASE_WORDS if long else PHRASE_WORDS)


def _unfit(said: Sequence[str], control_tokens: Sequence[str]) -> Reason | None:
    """Whether a text is none, or bears marks that only a template may set."""
    chars = set("".join(said))
    if any(char == _REPLACEMENT or unicodedata.category(char) == "Cs" for char in chars):
        return "NOT_TEXT"
    marked = any(mark in text for text in said for mark in control_tokens)
    return "CONTROL_TOKEN" if marked or any(_is_control(char) for char in chars) else None


def _idle(row: AnyRow, answers: Sequence[str], seen: Collection[AnyRow]) -> Reason | None:
    """Whether nothing can be learnt from the row beside those seen before."""
    if not _visible(row.prompt):
        return "EMPTY_PROMPT"
    shown = {_visible(answer) for answer in answers}
    if "" in shown:
        return "EMPTY_COMPLETION"
    if len(shown) < len(answers):
        return "NO_PREFERENCE"
    return "DUPLICATE" if row in seen else None


def _visible(text: str) -> str:
    """What a reader sees of a text: without invisible characters, and space at its ends. Accents,
    case and punctuation stay: answers may differ in them."""
    if text.isascii():
        return text.strip()
    composed = unicodedata.normalize("NFC", text)
    return "".join(char for char in composed if not _is_hidden(char)).strip()


def _is_hidden(char: str) -> bool:
    if char.isascii():
        return False
    if unicodedata.category(char) == "Cf" or char in _BLANK:
        return True
    return any(ord(char) in selectors for selectors in _SELECTORS)


def _is_control(char: str) -> bool:
    return unicodedata.category(char) == "Cc" and char not in "\n\t"
