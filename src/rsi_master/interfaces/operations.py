"""What was done to make a dataset, in plain words. An operation that this version does not know is
told as it is recorded."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pydantic import ValidationError

from rsi_master.core.dataset import Source
from rsi_master.domains.data.actions import Derive
from rsi_master.domains.data.filters import Filter
from rsi_master.domains.data.samples import SampleResult, SampleSpec
from rsi_master.interfaces import words

REMOVED: Final = {
    "verified": "as wrong",
    "length": "for their length",
    "distinct": "as repeated",
    "limit": "beyond the limit",
}
"""Why a filter dropped rows, by the name of its condition."""


def told(source: Source) -> str:
    """How the rows came to be; that of a program is not named, see `program`."""
    for key, words_of in _KNOWN.items():
        if key in source.operation:
            try:
                return words_of(source)
            except (ValidationError, IndexError):
                break
    if source.operation:
        return json.dumps(source.operation, ensure_ascii=False)
    return "made of others" if source.parents else "taken as the source has it"


def program(source: Source) -> str | None:
    """The id of the program that made or judged the rows, if one did."""
    filtered = source.operation.get("filter")
    judge = filtered.get("verifier") if isinstance(filtered, Mapping) else None
    found = source.operation.get("transform", judge)
    return found if isinstance(found, str) else None


def _filtered(source: Source) -> str:
    asked = Filter.model_validate({**_fields(source, "filter"), "dataset": source.parents[0]})
    removed = source.operation.get("removed")
    counts = removed.items() if isinstance(removed, Mapping) else ()
    gone = [f"{number:,} {REMOVED.get(name, name)}" for name, number in counts]
    dropped = f"; dropped {words.listed(gone)}" if gone else ""
    return f"filtered: {words.listed(_conditions(asked))}{dropped}"


def _conditions(asked: Filter) -> Iterator[str]:
    """What is kept, condition by condition."""
    if asked.verified:
        judge = "a program" if asked.verifier else "the benchmark's open verifier"
        says = "confirms" if asked.unknown == "drop" else "does not contradict"
        yield f"only rows that {judge} {says}"
    if asked.shortest is not None or asked.longest is not None:
        most = "any number of" if asked.longest is None else f"{asked.longest:,}"
        yield f"only answers of {asked.shortest or 0:,} to {most} characters"
    if asked.distinct:
        yield "equal rows once"
    if asked.distinct_prompts:
        yield "the first row of each prompt"
    if asked.limit is not None:
        yield f"the first {words.count(asked.limit, 'row')}"


def _transformed(_source: Source) -> str:
    return "each row made into none, one or several by a program"


def _sampled(source: Source) -> str:
    asked = SampleSpec.model_validate(_fields(source, "sample"))
    found = SampleResult.model_validate(_fields(source, "found"))
    drawn = (
        f"{words.count(asked.samples, 'answer')} drawn to each of up to "
        f"{words.count(asked.prompts, 'prompt')}, temperature {asked.temperature:g}, up to "
        f"{asked.answer_tokens} tokens, seed {asked.seed}"
    )
    if asked.keep == "pairs":
        kept = "of each prompt the best against the worst made a pair"
    else:
        most = f", at most {asked.per_prompt} of a prompt" if asked.per_prompt else ""
        kept = f"those that the benchmark's open verifier found right were kept{most}"
    figures = f"{found.drawn:,} drawn, {found.right:,} right, {found.kept:,} kept"
    return f"{drawn}; {kept}: {figures}"


def _derived(source: Source) -> str:
    asked = Derive.model_validate({**source.operation, "datasets": source.parents})
    parts = ["mixed"] if len(asked.datasets) > 1 else []
    if asked.repeats:
        times = " and ".join(map(str, asked.repeats))
        parts.append(f"every row {times} times, in the order of the datasets")
    else:
        parts.append("equal rows once")
    parts.append(f"shuffled with seed {asked.shuffle}")
    if asked.limit is not None:
        parts.append(f"the first {words.count(asked.limit, 'row')} kept")
    return words.listed(parts)


def _fields(source: Source, key: str) -> Mapping[str, object]:
    found = source.operation.get(key)
    return found if isinstance(found, Mapping) else {}


_KNOWN: Final[Mapping[str, Callable[[Source], str]]] = {
    "filter": _filtered,
    "transform": _transformed,
    "sample": _sampled,
    "shuffle": _derived,
}
