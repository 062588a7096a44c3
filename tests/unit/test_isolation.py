"""The choice of an isolation tier, and the way out that a refusal names."""

import re

import pytest

from rsi_master.adapters.sandbox.isolation import TierProbe, choose
from rsi_master.app.contracts import fresh
from rsi_master.core.contract import parse
from rsi_master.core.errors import Refused
from rsi_master.core.warm import JobTier

NAMESPACES = TierProbe(tier="namespaces", held=False, reason="EPERM")


def probes(landlock: bool) -> tuple[TierProbe, ...]:
    return NAMESPACES, TierProbe(tier="landlock", held=landlock, reason="ENOSYS")


def test_the_strongest_tier_that_holds_is_taken() -> None:
    assert choose(probes(landlock=True), "landlock") == "landlock"
    assert choose(probes(landlock=False), "none") == "none"


@pytest.mark.parametrize(
    ("landlock", "floor", "here"), [(False, "landlock", "none"), (True, "namespaces", "landlock")]
)
def test_the_line_that_accepts_less_is_taken_by_the_contract(
    landlock: bool, floor: JobTier, here: JobTier
) -> None:
    with pytest.raises(Refused, match="EPERM") as refused:
        choose(probes(landlock), floor)
    found = re.search(r"under (\[\w+\]) write (\w+ = .+)$", refused.value.message)
    assert found is not None
    section, line = found.groups()
    before, after = fresh("small").split(f"{section}\n")
    rest = after.partition("\n")[2]
    text = f"{before}{section}\n{line}\n{rest}"
    assert parse(text, "small.toml").isolation.floor == here
