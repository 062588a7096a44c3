"""Learning rates: the customary one by the size of the base, and those that follow from it."""

import math
from collections.abc import Mapping
from typing import Final, cast

LEAST: Final = 1e-5
"""Fine-tuning of billions of parameters, for which equation D.1 below has no rate (InstructGPT,
appendix C.1: 9.65e-6)."""
FACTOR: Final = 3.0
"""Half a decade is the customary grid of a learning-rate sweep."""
TENTH: Final = 10.0
"""Preferences and rewards take a tenth of the rate of supervision (DPO, arXiv 2305.18290: 1e-6
after SFT at about 1e-5; the same holds of GRPO in DeepSeekMath, arXiv 2402.03300: 1e-6)."""
LOWEST: Final = 1e-7
"""Recipes take no lower one."""


def customary(size: int | None) -> float:
    """Kaplan et al. 2020 (arXiv 2001.08361), equation D.1: 0.003239 - 0.0001395 ln N for N
    parameters."""
    return max(LEAST, 0.003239 - 0.0001395 * math.log(size)) if size else LEAST


def of(recipe: Mapping[str, object]) -> float:
    """The rate of a recipe that has one."""
    return float(cast(float, recipe["learning_rate"]))


def supervised(recipe: Mapping[str, object], size: int | None) -> float:
    """The rate of supervision that goes with a recipe: its own, ten times that of preferences and
    rewards, and a notch below the customary one after a merge, which has none."""
    match recipe.get("name"):
        case "merge":
            return customary(size) / FACTOR
        case "dpo" | "grpo":
            return of(recipe) * TENTH
        case _:
            return of(recipe)


def short(rate: float) -> float:
    """Two digits of it, as people write rates."""
    return float(f"{max(rate, LOWEST):.2g}")
