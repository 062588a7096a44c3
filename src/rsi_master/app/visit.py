"""One action on a run that nobody owns: own it for as long as the action takes."""

import platform
from collections.abc import Mapping

from rsi_master.adapters.sandbox.isolation import choose, probe
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.lab import Lab, open_lab
from rsi_master.app.server import failure
from rsi_master.app.start import floor_of
from rsi_master.core.action import OS
from rsi_master.core.errors import Misuse, RsiError
from rsi_master.core.run import OwnerStarted


def visit(
    folder: RunFolder, home: Home, token: str, action: str, arguments: Mapping[str, object]
) -> dict[str, object]:
    """The answer in the form of the socket. Work that the action starts waits for a resume."""
    try:
        with open_lab(folder, home) as lab:
            lab.tokens.caller(token)
            _take_over(lab)
            value = lab.gateway.submit(token, action, arguments)
            return {"ok": True, "answer": value.model_dump(mode="json")}
    except RsiError as problem:
        return failure(problem)


def _take_over(lab: Lab) -> None:
    """Record this owner, so that the time since the last one is not counted as work."""
    if lab.state.opened is None:
        raise Misuse("NOT_STARTED", f"run {lab.folder.id} has no events yet; `rsi resume` it first")
    if lab.state.finished is not None:
        return
    tier = choose(probe(), floor_of(lab.contract))
    fact = OwnerStarted(resumed=True, tier=tier, platform=platform.platform())
    with lab.lock:
        ticket = lab.ledger.append(OS, (fact,))
    ticket.wait()
