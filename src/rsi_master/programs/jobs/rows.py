"""Rows as the model reads them: the loss is on the answer and one end token, not on the prompt.

Prompt and answer are tokenised apart, because generation sees the prompt alone. A row that does
not fit is dropped and counted, never shortened.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from rsi_master.core.artifact import ROW, Pair, Prompt, Row
from rsi_master.core.failure import Drop
from rsi_master.programs.jobs.result import Untrainable

IGNORED: Final = -100

Kind = TypeVar("Kind", Row, Prompt, Pair)


class Tokenizer(Protocol):
    """What is needed of a tokenizer: texts to ids, and which id ends a text."""

    eos_token_id: int

    def __len__(self) -> int:
        """How many tokens are known."""

    def __call__(
        self, texts: list[str], *, add_special_tokens: bool, return_attention_mask: bool
    ) -> dict[str, list[list[int]]]:
        """Token ids of each text under the key `input_ids`."""

    def batch_decode(self, ids: object, *, skip_special_tokens: bool) -> list[str]:
        """The text of each row of ids."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Equally long `ids` and `labels` of each kept row."""

    ids: list[list[int]]
    labels: list[list[int]]


def load(inputs: Path, kind: type[Kind], name: str = "data") -> list[Kind]:
    """All rows of the files that begin with `name`, each JSONL or a folder of it, in the order of
    their names. Raises Untrainable for rows of another kind."""
    return [
        _of_kind(line, kind, place)
        for path in sorted(inputs.glob(f"{name}*"))
        for line, place in _lines(path)
    ]


def encode(
    rows: Sequence[Row], tokenizer: Tokenizer, max_length: int, dropped: Counter[Drop]
) -> Encoded:
    """Token ids and labels; `max_length` counts prompt, completion and end token."""
    end = tokenizer.eos_token_id
    prompts = ids(tokenizer, [row.prompt for row in rows], opening=True)
    completions = ids(tokenizer, [row.completion for row in rows], opening=False)
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
    )


def encode_pairs(
    pairs: Sequence[Pair], tokenizer: Tokenizer, max_length: int, dropped: Counter[Drop]
) -> dict[str, list[list[int]]]:
    """Ids of prompt and answers; a pair is dropped for the first flaw of either answer."""
    end = tokenizer.eos_token_id
    found = zip(
        ids(tokenizer, [pair.prompt for pair in pairs], opening=True),
        ids(tokenizer, [pair.chosen for pair in pairs], opening=False),
        ids(tokenizer, [pair.rejected for pair in pairs], opening=False),
        strict=True,
    )
    kept: dict[str, list[list[int]]] = {"prompt_ids": [], "chosen_ids": [], "rejected_ids": []}
    for prompt, *answers in found:
        flaws = [flaw for one in answers if (flaw := _flaw(prompt, one, end, max_length))]
        if flaws:
            dropped[flaws[0]] += 1
            continue
        for name, part in zip(kept, (prompt, *([*one, end] for one in answers)), strict=True):
            kept[name].append(part)
    return kept


def fitting(
    prompts: Sequence[Prompt], tokenizer: Tokenizer, max_length: int, dropped: Counter[Drop]
) -> list[Prompt]:
    """The prompts of at most `max_length` tokens and without an end token; others are counted."""
    kept = []
    encoded = ids(tokenizer, [row.prompt for row in prompts], opening=True)
    for row, found in zip(prompts, encoded, strict=True):
        reason: Drop | None = "end_inside" if tokenizer.eos_token_id in found else None
        reason = "too_long" if len(found) > max_length else reason
        if reason is None:
            kept.append(row)
        else:
            dropped[reason] += 1
    return kept


def ids(tokenizer: Tokenizer, texts: list[str], *, opening: bool) -> list[list[int]]:
    """Token ids of each text; with an opening token, if the tokenizer has one, where it begins."""
    if not texts:
        return []
    return tokenizer(texts, add_special_tokens=opening, return_attention_mask=False)["input_ids"]


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Each line and where it stands."""
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        with file.open(encoding="utf-8", errors="strict") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield line, f"line {number} of {file.name}"


def _of_kind(line: str, kind: type[Kind], place: str) -> Kind:
    row = ROW.validate_python(json.loads(line))
    if not isinstance(row, kind):
        raise Untrainable("WRONG_ROWS", f"{place} holds {row.kind}; the recipe takes {kind.kind}")
    return row


def _flaw(prompt: list[int], completion: list[int], end: int, max_length: int) -> Drop | None:
    if not completion:
        return "empty"
    if end in prompt or end in completion:
        return "end_inside"
    return "too_long" if len(prompt) + len(completion) + 1 > max_length else None
