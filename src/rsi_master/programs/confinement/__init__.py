"""Confinement of a forked child: the standard library, ctypes and the kernel, nothing else."""

from rsi_master.programs.confinement.confine import confine
from rsi_master.programs.confinement.interpreter import (
    covered_modules,
    covered_paths,
    packages_inside,
    python_paths,
    standard_library,
)
from rsi_master.programs.confinement.plan import Confinement, ConfinementError, Inside, Tier
from rsi_master.programs.confinement.probe import TierProbe, probe
from rsi_master.programs.confinement.process import hand_over

__all__ = [
    "Confinement",
    "ConfinementError",
    "Inside",
    "Tier",
    "TierProbe",
    "confine",
    "covered_modules",
    "covered_paths",
    "hand_over",
    "packages_inside",
    "probe",
    "python_paths",
    "standard_library",
]
