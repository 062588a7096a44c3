"""Rows as the model reads them: the loss is on the completion and one end token, not the prompt.

Prompt and completion are tokenised apart, because generation sees the prompt alone. A row that does
not fit is dropped and counted, never shortened.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from rsi_master.core.artifact import ROW, Row
from rsi_master.domains.training.result import Drop
from rsi_master.programs.jobs.result import Untrainable

IGNORED: Final = -100


class Tokenizer(Protocol):
    """What is needed of a tokenizer: texts to ids, and which id ends a text."""

    eos_token_id: int

    def __len__(self) -> int:
        """How many tokens are known."""

    def __call__(
        self, texts: list[str], *, add_special_tokens: bool, return_attention_mask: bool
    ) -> dict[str, list[list[int]]]:
        """Token ids of each text under the key `input_ids`."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Equally long `ids` and `labels` of each kept row, and how many rows were dropped and why."""

    ids: list[list[int]]
    labels: list[list[int]]
    dropped: dict[Drop, int]


def load(inputs: Path) -> list[Row]:
    """All rows of `data*`, each a JSONL file or a folder of them, in the order of their names.

    Raises Untrainable for prompts alone and for preference pairs.
    """
    return [row for path in sorted(inputs.glob("data*")) for row in _rows(path)]


def encode(rows: Sequence[Row], tokenizer: Tokenizer, max_length: int) -> Encoded:
    """Token ids and labels; `max_length` counts prompt, completion and end token."""
    if not rows:
        return Encoded([], [], {})
    end = tokenizer.eos_token_id
    prompts = _ids(tokenizer, [row.prompt for row in rows], opening=True)
    completions = _ids(tokenizer, [row.completion for row in rows], opening=False)
    dropped: Counter[Drop] = Counter()
    kept: list[tuple[list[int], list[int]]] = []
    for prompt, completion in zip(prompts, completions, strict=True):
        reason = _flaw(prompt, completion, end, max_length)
        if reason is None:
            kept.append((prompt, [*completion, end]))
        else:
            dropped[reason] += 1
    return Encoded(
        ids=[prompt + completion for prompt, completion in kept],
        labels=[[IGNORED] * len(prompt) + completion for prompt, completion in kept],
        dropped=dict(sorted(dropped.items())),
    )


def _rows(path: Path) -> Iterator[Row]:
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        with file.open(encoding="utf-8", errors="strict") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _row(line, f"line {number} of {file.name}")


def _row(line: str, place: str) -> Row:
    row = ROW.validate_python(json.loads(line))
    if not isinstance(row, Row):
        raise Untrainable("WRONG_ROWS", f"{place} holds {row.kind}; the recipe takes {Row.kind}")
    return row


def _ids(tokenizer: Tokenizer, texts: list[str], *, opening: bool) -> list[list[int]]:
    return tokenizer(texts, add_special_tokens=opening, return_attention_mask=False)["input_ids"]


def _flaw(prompt: list[int], completion: list[int], end: int, max_length: int) -> Drop | None:
    if not completion:
        return "empty"
    if end in prompt or end in completion:
        return "end_inside"
    return "too_long" if len(prompt) + len(completion) + 1 > max_length else None
