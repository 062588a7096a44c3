"""Whether the training stack is there: programs say so before they import it."""

import importlib.metadata
import importlib.util
from collections.abc import Iterable
from typing import Final

from rsi_master.core.errors import Refused

GENERATION: Final = ("torch", "transformers", "tokenizers")


def require(*packages: str) -> None:
    """Raise Refused with those of the packages that cannot be imported."""
    _refuse([name for name in packages if importlib.util.find_spec(name) is None])


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """The version of each distribution; raises Refused with those that are not installed."""
    found: dict[str, str] = {}
    absent: list[str] = []
    for name in distributions:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            absent.append(name)
    _refuse(absent)
    return found


def _refuse(absent: list[str]) -> None:
    if absent:
        raise Refused(
            "NO_TRAINING_STACK",
            f"{', '.join(absent)} not installed; run `make setup` in the checkout, or install "
            "rsi-master[train]",
        )
