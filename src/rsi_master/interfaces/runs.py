"""Which run a command means: a folder, an id, or the newest."""

import os
import re
from pathlib import Path

from rsi_master.app.folder import RunFolder
from rsi_master.core.errors import Misuse

RUNS = Path("runs")
LISTED = 3
_TIME_ORDERED = re.compile(r"^.*?-(?=[0-9a-f]{8}-)")


def find(named: str | None, parent: Path = RUNS) -> RunFolder:
    """The run of a path, of `$RSI_RUN`, of an unmistakable part of an id, or the newest one."""
    named = named or os.environ.get("RSI_RUN")
    if named is None:
        return newest(parent)
    if Path(named).is_dir():
        return RunFolder(Path(named).absolute())
    close = [path for path in _runs(parent) if named in path.name]
    if len(close) == 1:
        return RunFolder(close[0].absolute())
    if close:
        names = ", ".join(sorted(path.name for path in close))
        raise Misuse("AMBIGUOUS", f"{named!r} may be any of {names}; name more of it")
    raise Misuse(
        "NO_RUN",
        f"no run {named!r}: no such folder, and no such id under {parent}; {_offer(parent)}",
    )


def newest(parent: Path) -> RunFolder:
    """The run under `parent` that was started last; raises Misuse without any."""
    found = _runs(parent)
    if not found:
        raise Misuse("NO_RUN", f"no run in {parent}; `rsi demo` or `rsi run CONTRACT` makes one")
    return RunFolder(max(found, key=_age).absolute())


def _offer(parent: Path) -> str:
    """What there is to name instead."""
    found = sorted(_runs(parent), key=_age, reverse=True)[:LISTED]
    if not found:
        return "`rsi demo` or `rsi run CONTRACT` makes one"
    return f"the newest are {', '.join(path.name for path in found)}"


def _age(path: Path) -> str:
    """The time-ordered part of a run's id: the name of a contract says nothing of age."""
    return _TIME_ORDERED.sub("", path.name)


def _runs(parent: Path) -> list[Path]:
    return [path for path in parent.glob("*") if (path / "run.id").is_file()]
