"""The benchmark's open verifier as the sealed process asks it: never in the owner, which runs no
benchmark's code."""

import importlib
from collections.abc import Callable
from typing import TypeAlias

from rsi_master.core.errors import Broken, SealUnavailable

Verifier: TypeAlias = Callable[[str, str], float | None]
"""Points in 0..1 for (prompt, answer), None for a prompt that it does not know."""


def load(entry: str | None) -> Verifier | None:
    """The function `module:function`, None for none; raises SealUnavailable when there is no such
    one."""
    if entry is None:
        return None
    module, _, name = entry.partition(":")
    try:
        found: Verifier = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as cause:
        raise SealUnavailable(
            "NO_VERIFIER", f"the open verifier {entry} cannot be loaded: {cause}"
        ) from cause
    return found


def points(verifier: Verifier, prompt: str, answer: str) -> float | None:
    """The points of an answer; raises Broken where the verifier fails or gives something else."""
    try:
        found = verifier(prompt, answer)
        told = None if found is None else float(found)
    except Exception as cause:
        raise _faulty(f"fails with {type(cause).__name__}") from cause
    if told is not None and not 0 <= told <= 1:
        raise _faulty(f"gives {told:g}, no points in 0..1")
    return told


def _faulty(how: str) -> Broken:
    return Broken("VERIFIER_FAILED", f"the open verifier {how}; its benchmark has to be mended")
