"""The benchmark's open verifier in a job: points for an answer, from the prompt alone or from the
answer that is known to it."""

import importlib
from collections import Counter
from collections.abc import Callable, Sequence

from rsi_master.core.artifact import Problem, Prompt
from rsi_master.core.failure import Drop
from rsi_master.programs.jobs.result import Untrainable

Verifier = Callable[[str, str], float | None]
"""Points in 0..1 for (prompt, answer); None for a prompt that it does not know."""


def load(entry: str | None, prompts: Sequence[Prompt] = ()) -> Verifier:
    """The function `module:name`, which is given the known answer of each prompt that bears one
    as well; raises Untrainable where there is none."""
    if entry is None:
        raise Untrainable("NO_VERIFIER", "the benchmark has no open verifier")
    module, _, name = entry.partition(":")
    try:
        found: Callable[..., float | None] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as cause:
        raise Untrainable("NO_VERIFIER", f"verifier {entry} cannot be loaded: {cause}") from cause
    answers = {row.prompt: row.answer for row in prompts if isinstance(row, Problem)}

    def verify(prompt: str, answer: str) -> float | None:
        more = (answers[prompt],) if prompt in answers else ()
        return found(prompt, answer, *more)

    return verify


def known(prompts: Sequence[Prompt], verify: Verifier, dropped: Counter[Drop]) -> list[Prompt]:
    """The prompts that the verifier knows and that do not bear different answers; the others are
    counted."""
    told: dict[str, set[str]] = {}
    for row in prompts:
        if isinstance(row, Problem):
            told.setdefault(row.prompt, set()).add(row.answer)
    kept = []
    for row in prompts:
        if len(told.get(row.prompt, ())) > 1:
            dropped["contradictory"] += 1
        elif verify(row.prompt, "") is None:
            dropped["unverifiable"] += 1
        else:
            kept.append(row)
    return kept


def points(verify: Verifier, prompt: str, answer: str) -> float:
    """The points of an answer to a known prompt."""
    found = verify(prompt, answer)
    if found is None or not 0 <= found <= 1:
        raise Untrainable("NO_VERIFIER", f"the verifier gives {found!r}, no points in 0..1")
    return found
