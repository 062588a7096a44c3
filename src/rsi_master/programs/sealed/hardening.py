"""What the sealed process gives up: descriptors, core dumps, being traced, root."""

import os
import resource
import socket
from pathlib import Path

from rsi_master.core.errors import SealUnavailable
from rsi_master.programs.confinement import kernel, process
from rsi_master.programs.confinement.plan import ConfinementError

SEALED_UID = 59_417
_LOG = "serve.log"
_TASKS = Path("/proc/self/task")


def take_sockets() -> tuple[socket.socket, socket.socket]:
    """The connections inherited as standard input (items) and output (rows).

    Every other descriptor but standard error is closed.
    """
    items, rows = (socket.socket(fileno=os.dup(standard)) for standard in (0, 1))
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)
    process.close_descriptors((0, 1, 2, items.fileno(), rows.fileno()))
    return items, rows


def log_to(folder: Path) -> None:
    """Send standard error to a log beside the items: a traceback may quote them."""
    log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 2)
    os.close(log)


def harden() -> None:
    """No core dump, no tracing, no new privileges; dies with the owner."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kernel.prctl("no tracing", kernel.PR_SET_DUMPABLE, 0)
    kernel.prctl("no new privileges", kernel.PR_SET_NO_NEW_PRIVS, 1)
    process.die_with_parent()


def leave_root() -> None:
    """Become a user that owns nothing; an ordinary user stays what it is.

    What may be left is the right to read: an installation in a closed home can then still be
    imported. Raises SealUnavailable where the user does not exist, as in some containers.
    """
    if os.geteuid() != 0:
        return
    try:
        process.become(SEALED_UID, keep=(kernel.CAP_DAC_READ_SEARCH,))
        harden()
    except ConfinementError as cause:
        raise SealUnavailable(
            "NO_OWN_USER", f"root could not become uid {SEALED_UID}: {cause}; use an ordinary user"
        ) from cause


def leave_rights() -> None:
    """Give up the last capability of this thread; threads that it starts have none."""
    kernel.keep_capabilities("drop capabilities")


def privileged_threads() -> tuple[str, ...]:
    """Ids of the threads of this process that hold a capability."""
    found = ((task.name, (task / "status").read_text()) for task in _TASKS.iterdir())
    return tuple(name for name, status in found if "CapEff:\t0000000000000000" not in status)
