"""The folder of a run: it can be copied, verified and resumed elsewhere. No secret lies in it."""

from dataclasses import dataclass
from pathlib import Path

from rsi_master.core.contract import Contract, parse
from rsi_master.core.errors import Misuse


@dataclass(frozen=True)
class RunFolder:
    """Names of what lies in it."""

    path: Path

    @property
    def contract_file(self) -> Path:
        """The rules as the operator wrote them."""
        return self.path / "contract.toml"

    @property
    def ledger(self) -> Path:
        """The events."""
        return self.path / "ledger.db"

    @property
    def notes(self) -> Path:
        """Signed heads."""
        return self.path / "notes"

    @property
    def objects(self) -> Path:
        """Artifacts by digest."""
        return self.path / "objects"

    @property
    def spool(self) -> Path:
        """Folders of running jobs."""
        return self.path / "spool"

    @property
    def lock(self) -> Path:
        """Held by the owner."""
        return self.path / "owner.lock"

    @property
    def verifier_file(self) -> Path:
        """The public key that the notes are signed with, for those who trust this folder."""
        return self.path / "verifier.key"

    @property
    def id(self) -> str:
        """The run's id, which does not change when the folder is renamed."""
        return self._read("run.id")

    def contract(self) -> Contract:
        """The parsed contract."""
        return parse(self.contract_text(), str(self.contract_file))

    def contract_text(self) -> str:
        """The contract's text."""
        return self._read("contract.toml")

    def require(self) -> None:
        """Raise Misuse when this is no run folder."""
        if not self.path.is_dir():
            raise Misuse("NO_RUN", f"{self.path} is no folder; `rsi run CONTRACT` makes one")
        if not self.ledger.is_file():
            raise Misuse("NO_RUN", f"{self.path} holds no ledger.db; name a run folder")

    def _read(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as cause:
            raise Misuse("NO_RUN", f"{self.path / name} cannot be read: {cause}") from cause
