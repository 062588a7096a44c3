"""Whether the training stack is there: programs say so before they import it."""

import importlib.util
from typing import Final

from rsi_master.core.errors import Refused

GENERATION: Final = ("torch", "transformers", "tokenizers")


def require(*packages: str) -> None:
    """Raise Refused with those of the packages that are not installed."""
    absent = [name for name in packages if importlib.util.find_spec(name) is None]
    if absent:
        raise Refused(
            "NO_TRAINING_STACK",
            f"{', '.join(absent)} not installed; run `make setup` in the checkout, or install "
            "rsi-master[train]",
        )
