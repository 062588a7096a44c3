"""The data domain: the actions on the pool, and those for which a job makes data."""

from rsi_master.domains.data import actions, sampling
from rsi_master.expos.catalogue import Domain

DOMAIN = Domain(
    "data",
    (*actions.ENTRIES, sampling.ENTRY),
    (*actions.RULES, *sampling.RULES),
)
