"""Reaching the gateway of a run: through its living owner, or by owning it for a moment."""

import socket
from collections.abc import Mapping
from pathlib import Path

from rsi_master.adapters.store.lock import held
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.core.errors import Misuse

SECONDS = 5.0


def owned(folder: RunFolder, home: Home) -> bool:
    """Whether a living owner on this machine answers for the run, or holds it for another
    installation."""
    return _answers(home.socket(folder.id)) or held(folder.lock)


def submit(
    folder: RunFolder, home: Home, token: str, action: str, arguments: Mapping[str, object]
) -> dict[str, object]:
    """Submit one action and return the answer, `{"ok": …}` with the value or the failure."""
    # Late: commands that only read a record must not pay for these.
    from rsi_master.app.server import ask  # noqa: PLC0415
    from rsi_master.app.visit import visit  # noqa: PLC0415

    path = home.socket(folder.id)
    if _answers(path):
        return ask(path, token, action, arguments)
    return visit(folder, home, token, action, arguments)


def operator_token(folder: RunFolder, home: Home) -> str:
    """The token of the person who started the run; raises Misuse where this home has none."""
    path = home.operator_token(folder.id)
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError as cause:
        raise Misuse(
            "NO_OPERATOR_TOKEN",
            f"the operator's token of {folder.id} is not here: {cause.strerror}; set RSI_HOME to "
            "the installation that started the run",
        ) from cause


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(SECONDS)
        try:
            link.connect(str(path))
        except OSError:
            return False
    return True
