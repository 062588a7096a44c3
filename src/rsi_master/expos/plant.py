"""The parts that carry experiments and openings, behind their ports."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from rsi_master.core.contract import Contract
from rsi_master.core.ports import Clock, Compute, ObjectStore, Sealed, Trainer
from rsi_master.core.state import State
from rsi_master.expos.ledger import Ledger
from rsi_master.expos.making import Making
from rsi_master.expos.probing import Probing

ROUNDS, ROUND_SECONDS = 40, 0.05
"""How long a stop waits for killed jobs to be gone."""


@dataclass(frozen=True)
class Plant:
    """What the engine drives; `scratch` is where checkpoints are laid for the sealed process."""

    contract: Contract
    state: State
    ledger: Ledger
    compute: Compute
    sealed: Sealed
    objects: ObjectStore
    trainer: Trainer
    clock: Clock
    scratch: Path
    probing: Probing
    making: Making

    def await_end(self, names: Collection[str]) -> None:
        """Wait for killed jobs to be gone, a few seconds at most."""
        for _ in range(ROUNDS):
            if all(self.compute.poll(name).state != "running" for name in names):
                return
            self.compute.wait(ROUND_SECONDS)
