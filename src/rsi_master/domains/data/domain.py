"""The data domain: the actions on the pool, those for which a job makes data, and programs."""

from typing import Final

from rsi_master.domains.data import (
    actions,
    filtering,
    programs,
    running,
    sampling,
    transforming,
)
from rsi_master.expos.catalogue import Domain

DOMAIN = Domain(
    "data",
    (
        *actions.ENTRIES,
        filtering.ENTRY,
        sampling.ENTRY,
        transforming.ENTRY,
        *programs.ENTRIES,
    ),
    (
        *actions.RULES,
        *filtering.RULES,
        *sampling.RULES,
        *transforming.RULES,
        *programs.RULES,
    ),
)

PROGRAMS: Final = {**sampling.PROGRAMS, **running.PROGRAMS}
"""What jobs of this domain run, by the names in their orders."""
