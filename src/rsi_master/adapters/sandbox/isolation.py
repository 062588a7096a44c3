"""Which isolation tiers hold here, as tried by the interpreter that will run the jobs."""

import subprocess
import sys

from pydantic import TypeAdapter, ValidationError

from rsi_master.core.errors import Broken, Refused
from rsi_master.core.job import STRENGTH
from rsi_master.core.model import Value
from rsi_master.core.warm import JobTier

_SECONDS = 60.0


class TierProbe(Value):
    """Whether a tier held when it was tried, and why not."""

    tier: JobTier
    held: bool
    reason: str


_PROBE: TypeAdapter[TierProbe] = TypeAdapter(TierProbe)


def probe(python: str = sys.executable) -> tuple[TierProbe, ...]:
    """Try every tier in children of a fresh interpreter, strongest first."""
    command = [python, "-I", "-B", "-m", "rsi_master.programs.confinement"]
    try:
        done = subprocess.run(
            command, env={}, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
        return tuple(_PROBE.validate_json(line) for line in done.stdout.splitlines())
    except (OSError, subprocess.SubprocessError, ValidationError) as error:
        text = f"the isolation probe by {python} gave no answer: {error}"
        raise Broken("ISOLATION_PROBE", text) from error


def choose(probes: tuple[TierProbe, ...], floor: JobTier) -> JobTier:
    """The strongest tier that held, Refused when it lies below `floor`."""
    best: JobTier = next((one.tier for one in probes if one.held), "none")
    if STRENGTH[best] < STRENGTH[floor]:
        reasons = "; ".join(f"{one.tier}: {one.reason}" for one in probes if not one.held)
        raise Refused(
            "ISOLATION_FLOOR",
            f"isolation here is '{best}', the contract asks at least '{floor}' ({reasons}); "
            "allow namespaces or Landlock here, or accept less in the contract: under [isolation] "
            f'write floor = "{best}"',
        )
    return best
