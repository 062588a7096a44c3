"""The data domain: the actions on the pool, those for which a job makes data, and programs."""

from rsi_master.domains.data import actions, filtering, programs, transforming
from rsi_master.expos.catalogue import Domain

DOMAIN = Domain(
    "data",
    (*actions.ENTRIES, filtering.ENTRY, transforming.ENTRY, *programs.ENTRIES),
    (*actions.RULES, *filtering.RULES, *transforming.RULES, *programs.RULES),
)
