"""Which tiers hold on this machine: each is entered in a forked child that then tries to break out.

Run as `python -I -m rsi_master.programs.confinement` it prints one JSON object a tier, strongest
first.
"""

import json
import os
import socket
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from rsi_master.programs.confinement.confine import confine
from rsi_master.programs.confinement.interpreter import covered_paths, python_paths
from rsi_master.programs.confinement.plan import (
    TIERS,
    Confinement,
    ConfinementError,
    Inside,
    Tier,
)
from rsi_master.programs.confinement.process import hand_over

# Between the ranges that systemd gives to homes and to dynamic users.
_PROBE_USER = 60_599


@dataclass(frozen=True)
class TierProbe:
    """Whether a tier held when it was tried, and why not."""

    tier: Tier
    held: bool
    reason: str = ""


def probe() -> tuple[TierProbe, ...]:
    """Try every tier, strongest first. Forks; call it with a single thread."""
    return tuple(_try_tier(tier) for tier in TIERS)


def _try_tier(tier: Tier) -> TierProbe:
    with tempfile.TemporaryDirectory(prefix="rsi-probe-") as name:
        base = Path(name).resolve()
        covered = base / "library" / "covered"
        covered.mkdir(parents=True)
        for place in (base, covered, covered.parent):
            (place / "secret").write_text("secret")
            (place / "secret").chmod(0o644)
        folder = base / "job"
        (folder / "in").mkdir(parents=True)
        (folder / "job.json").write_text("{}")
        user = _PROBE_USER if os.geteuid() == 0 else None
        hand_over(folder, user)
        plan = Confinement(
            tier=tier,
            folder=folder,
            readable=(*python_paths(), covered.parent),
            covered=(*covered_paths(), covered),
            user=user,
        )
        reason = _verdict(plan, base)
    return TierProbe(tier, not reason, reason)


def _verdict(plan: Confinement, base: Path) -> str:
    """Empty when the plan held in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _try_in_child(plan, base, writer)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer.removesuffix("ok") if answer else "the child died before it could answer"


def _try_in_child(plan: Confinement, base: Path, writer: int) -> NoReturn:
    def watch(grandchild: int) -> NoReturn:
        os.waitpid(grandchild, 0)
        os._exit(0)

    try:
        inside = confine(plan, (writer,), watch)
        answer = "ok" if plan.tier == "none" else _leaks(inside, base) or "ok"
    except ConfinementError as error:
        answer = str(error)
    except Exception as error:  # noqa: BLE001 - the child must answer, whatever it was
        answer = f"{type(error).__name__}: {error}"
    os.write(writer, answer.encode())
    os._exit(0)


def _leaks(inside: Inside, base: Path) -> str:
    """What a confined process could do that it must not, or could not do that it must."""
    secret, library = base / "secret", base / "library"
    open_doors: tuple[tuple[str, Callable[[], object]], ...] = (
        ("a file outside could be read", secret.read_text),
        ("a file outside could be written", lambda: secret.write_text("changed")),
        ("a covered file could be read", (library / "covered" / "secret").read_text),
        ("an internet socket could be made", lambda: socket.socket(socket.AF_INET).close()),
    )
    for complaint, attempt in open_doors:
        if _succeeds(attempt):
            return complaint
    needs: tuple[tuple[str, Callable[[], object]], ...] = (
        ("out/ cannot be written", lambda: (inside.folder / "out" / "probe").write_text("x")),
        ("scratch cannot be written", lambda: (inside.scratch / "probe").write_text("x")),
        ("the interpreter cannot be read", lambda: os.listdir(sysconfig.get_path("stdlib"))),
        ("what lies beside a covered folder cannot be read", (library / "secret").read_text),
        ("/proc/cpuinfo cannot be read", Path("/proc/cpuinfo").read_text),
    )
    for complaint, attempt in needs:
        if not _succeeds(attempt):
            return complaint
    return ""


def _succeeds(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def main() -> None:
    """Print what `probe` found."""
    for found in probe():
        print(json.dumps({"tier": found.tier, "held": found.held, "reason": found.reason}))
