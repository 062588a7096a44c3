"""Whether a base can read the prompts of a file and write its answers, and how long those are."""

import json
from collections.abc import Sequence
from typing import Final

from rsi_master.programs import stack
from rsi_master.programs.sealed.benchmark import Base
from rsi_master.programs.sealed.own.file import BadFile, Entry, shown

SPARE: Final = 16
"""Tokens that an output may have beyond the longest answer of the file."""
LEAST: Final = 64


def room(entries: Sequence[Entry], base: Base) -> int:
    """The tokens that an output may have.

    Raises BadFile for the first entry that is longer than the base reads, holds a control token or
    an answer that the base cannot write.
    """
    stack.require("tokenizers")
    from tokenizers import Tokenizer  # noqa: PLC0415 - of the training stack

    text = base.files["tokenizer.json"].decode()
    tokens, unknown, context = Tokenizer.from_str(text), _unknown(text), context_of(base)
    control = [one.content for one in tokens.get_added_tokens_decoder().values() if one.special]
    prompts = tokens.encode_batch([entry.prompt for entry in entries])
    answers = tokens.encode_batch([completion(entry) for entry in entries])
    for entry, prompt, answer in zip(entries, prompts, answers, strict=True):
        _without(entry, control)
        if unknown in answer.ids:
            start, end = answer.offsets[answer.ids.index(unknown)]
            raise BadFile(
                f'row {entry.number}: field "answer" holds {shown(completion(entry)[start:end])}, '
                "which the base cannot write; write it otherwise, or take a larger base"
            )
        if len(prompt.ids) + len(answer.ids) >= context:
            raise BadFile(
                f"row {entry.number}: prompt and answer have {len(prompt.ids)} and "
                f"{len(answer.ids)} tokens, the base reads {context} at once, an end token among "
                "them; shorten or remove the row, or take a larger base"
            )
    longest = max(len(prompt.ids) for prompt in prompts)
    most = max(len(answer.ids) for answer in answers)
    return min(max(LEAST, most + SPARE), max(most + 1, context - longest))


def completion(entry: Entry) -> str:
    """The answer as it stands in the file, after a space where none parts it from the prompt."""
    apart = entry.prompt[-1:].isspace() or entry.answer[:1].isspace()
    return entry.answer if apart else f" {entry.answer}"


def context_of(base: Base) -> int:
    """The tokens that the base reads at once."""
    found = json.loads(base.files["config.json"]).get("max_position_embeddings")
    return found if isinstance(found, int) else 1 << 30


def _without(entry: Entry, control: Sequence[str]) -> None:
    for name, text in (("prompt", entry.prompt), ("answer", entry.answer)):
        mark = next((mark for mark in control if mark in text), None)
        if mark is not None:
            raise BadFile(
                f'row {entry.number}: field "{name}" holds {shown(mark)}, a control token of the '
                "base; remove it"
            )


def _unknown(text: str) -> int | None:
    """The id in the place of what a tokenizer does not know; None where it knows every byte."""
    model = json.loads(text)["model"]
    if model.get("byte_fallback"):
        return None
    if model["type"] == "Unigram":
        unigram: int | None = model["unk_id"]
        return unigram
    found: int | None = model["vocab"].get(model.get("unk_token"))
    return found
