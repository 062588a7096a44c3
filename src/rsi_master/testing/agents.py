"""Scripted fillings of the roles: a Worker that trains the test recipe by a list of settings."""

from collections.abc import Sequence
from typing import cast

from rsi_master.agents.playbook.replication import replica
from rsi_master.agents.playbook.worker import summary
from rsi_master.core.turn import Ask
from rsi_master.domains.planning.workers import Assignment
from rsi_master.domains.training.views import WorkerExperimentView
from rsi_master.expos.gateway import Session

Settings = Sequence[dict[str, object]]


class SketchWorker:
    """Submits one setting after the other, verifies when asked to, then finalises. With `looks` it
    probes the base before its first experiment."""

    def __init__(self, settings: Settings, looks: bool = False) -> None:
        self._settings = tuple(settings)
        self._looks = looks

    def act(self, ask: Ask, session: Session) -> None:
        """See `Agent`."""
        task = cast(Assignment, session.act("worker.current"))
        if task.running:
            return
        seen = [
            cast(WorkerExperimentView, session.act("experiment.inspect", experiment=name))
            for name in task.experiments
        ]
        tried = len(seen)
        again = replica(task, seen) if task.purpose == "verify" else None
        if again is not None:
            session.act(again[0], **again[1])
        elif task.purpose == "explore" and task.left and tried < len(self._settings):
            if self._looks and not tried and task.practice and task.probes:
                session.act("experiment.probe", count=8)
            recipe = {"name": "sketch", **self._settings[tried]}
            session.act("experiment.submit", recipe=recipe, data=task.data[0])
        else:
            session.act("worker.finalize", **summary(task, seen))
