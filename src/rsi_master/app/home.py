"""Where an installation keeps what must not lie in a run folder: keys, tokens, sealed sets."""

import os
from dataclasses import dataclass
from pathlib import Path

from rsi_master.adapters.store.durable import disk, write_file
from rsi_master.core.errors import Refused, SealUnavailable

SOCKET_BYTES = 100


@dataclass(frozen=True)
class Home:
    """The folder of one installation; everything in it is for its user alone."""

    root: Path

    @staticmethod
    def default() -> "Home":
        """`$RSI_HOME`, else `$XDG_DATA_HOME/rsi-master`, else `~/.local/share/rsi-master`."""
        named = os.environ.get("RSI_HOME")
        if named:
            return Home(Path(named).absolute())
        data = os.environ.get("XDG_DATA_HOME")
        base = Path(data) if data else Path.home() / ".local" / "share"
        return Home(base.absolute() / "rsi-master")

    def prepare(self) -> None:
        """Make the folder, readable by its user alone; raises Refused when that cannot be."""
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.root.chmod(0o700)
        except OSError as cause:
            raise Refused(
                "HOME", f"cannot make {self.root}: {cause.strerror}; set RSI_HOME elsewhere"
            ) from cause

    @property
    def key(self) -> Path:
        """The signing key."""
        return self.root / "signing.key"

    def base(self, name: str) -> Path:
        """The folder of a base that was prepared here."""
        return self.root / "bases" / name

    def link_items(self, digest: str, file: Path) -> None:
        """Remember where the file of a person's own questions lies; contracts name its digest."""
        self.prepare()
        self._link(self._items(digest), os.fsencode(file.absolute()))

    def items(self, digest: str) -> Path | None:
        """Where that file lay; None when it was never named here."""
        link = self._items(digest)
        return Path(os.fsdecode(link.read_bytes()[:-1])) if link.is_file() else None

    def tokens(self, run: str) -> Path:
        """Hashes of the lasting tokens of a run."""
        return self._private(run) / "tokens.json"

    def operator_token(self, run: str) -> Path:
        """The operator's token of a run."""
        return self._private(run) / "operator.token"

    def link_seal(self, run: str, folder: Path) -> None:
        """Remember which sealed set belongs to a run."""
        self._link(self._sealed_link(run), folder.name.encode("ascii"))

    def seal(self, run: str) -> Path:
        """The sealed set of a run; raises SealUnavailable when this machine has none."""
        link = self._sealed_link(run)
        if not link.is_file():
            raise SealUnavailable(
                "NO_SEALED_SET",
                f"the sealed set of run {run} is not on this machine (looked in {self.root}); "
                "resume where the run was started, or set RSI_HOME to that installation",
            )
        return self.root / "sealed" / link.read_text(encoding="ascii").strip()

    def lock(self, run: str) -> Path:
        """Held by the owner of a run on this installation, wherever a copy of its folder lies."""
        folder = self._private(run)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder / "owner.lock"

    def knows(self, run: str) -> bool:
        """Whether the run was started by this installation: its sealed set is here. Whoever only
        reads a run of another one may leave a folder of its name."""
        return self._sealed_link(run).is_file()

    def socket(self, run: str) -> Path:
        """The owner's socket, at a place that depends on the installation and the run alone; in
        /tmp where the own path is too long for a socket."""
        near = self._private(run) / "owner.sock"
        if len(os.fsencode(near)) <= SOCKET_BYTES:
            near.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return near
        folder = Path("/tmp") / f"rsi-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            raise Refused("SOCKET_FOLDER", f"{folder} belongs to another user; remove it")
        return folder / f"{run[-36:]}.sock"

    def _sealed_link(self, run: str) -> Path:
        return self._private(run) / "sealed.set"

    def _link(self, link: Path, name: bytes) -> None:
        """Write a name into a file, whole or not at all; raises Broken when the disk fails."""
        with disk(f"writing {link}", "run this again"):
            link.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_file(link, name + b"\n", 0o600)

    def _items(self, digest: str) -> Path:
        return self.root / "benchmarks" / digest.removeprefix("sha256:")

    def _private(self, run: str) -> Path:
        return self.root / "runs" / run
