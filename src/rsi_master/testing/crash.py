"""Runs an owner that dies by SIGKILL at a named point: before or after a kind of event is durable.

    python -m rsi_master.testing.crash RUN_FOLDER HOME [before:attempt.ended | after:claim.opened]

Without a point it runs to the end. The roles are the playbook's with the test recipe's Worker,
which probes.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rsi_master.agents.agent import Agent
from rsi_master.agents.playbook.main import MainPlaybook
from rsi_master.agents.playbook.reviewer import ReviewerPlaybook
from rsi_master.app import start
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.core.facts import CODEC
from rsi_master.core.ports import EventStore
from rsi_master.core.run import TurnRole
from rsi_master.testing.agents import SketchWorker

SETTINGS: tuple[dict[str, object], ...] = (
    {"steps": 2, "pause": 0.05},
    {"steps": 3, "gain": 0.15, "pause": 0.05},
)


@dataclass
class CrashingStore:
    """An event store whose process is killed around the first event of a type."""

    inner: EventStore
    point: str

    def append(self, bodies: Sequence[bytes]) -> None:
        """Write, and die before or after if the batch holds the event."""
        when, _, kind = self.point.partition(":")
        hit = any(CODEC.read(body).fact.type == kind for body in bodies)
        if hit and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        self.inner.append(bodies)
        if hit and when == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    def read(self, start: int = 0) -> Iterator[bytes]:
        """See `EventStore`."""
        return self.inner.read(start)

    def size(self) -> int:
        """See `EventStore`."""
        return self.inner.size()

    def close(self) -> None:
        """See `EventStore`."""
        self.inner.close()


def agents() -> dict[TurnRole, Agent]:
    """The playbook, with a Worker that trains the test recipe."""
    return {
        "main": MainPlaybook(),
        "worker": SketchWorker(SETTINGS, looks=True),
        "reviewer": ReviewerPlaybook(),
    }


def main(arguments: Sequence[str]) -> int:
    """Run or resume; the exit status is 0 when the run finished."""
    folder, home = RunFolder(Path(arguments[0])), Home(Path(arguments[1]))
    point = arguments[2] if len(arguments) > 2 else None
    setting = start.Setting(
        agents=agents(),
        wrap=(lambda store: CrashingStore(store, point)) if point else None,
    )
    finished = start.run(folder, home, setting)
    print(finished.outcome)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
