"""The owner: the one process that writes a run's ledger, from opening to the end."""

import contextlib
import shlex
import signal
import threading
from collections.abc import Iterator, Mapping
from types import FrameType

from rsi_master.adapters.compute.local import LocalCompute
from rsi_master.agents.agent import Agent
from rsi_master.app.director import Director, LoopFollower
from rsi_master.app.lab import Lab, scratch
from rsi_master.core.action import OS
from rsi_master.core.errors import RsiError, SealUnavailable
from rsi_master.core.run import ActionSettled, RunFinished, TurnRole
from rsi_master.domains.training.lifecycle import RecipeTrainer
from rsi_master.expos.conclusion import conclusion
from rsi_master.expos.engine import Engine
from rsi_master.expos.plant import Plant

TICK_SECONDS = 0.05
GRACE_SHARE = 0.25
GRACE_SECONDS = 60.0
TURN_SECONDS = 1.0
"""How long a turn whose token was taken back may take to end."""
SETTLE_SECONDS = 30.0
"""How long a stop waits for the outcome of actions whose jobs it ended."""


class Interrupted(RsiError):
    """The operator pressed Ctrl-C or left, or the machine asks the process to end."""

    exit_code = 130


class Owner:
    """Runs engine and director in one loop until the run is finished."""

    def __init__(
        self,
        lab: Lab,
        compute: LocalCompute,
        follower: LoopFollower,
        agents: Mapping[TurnRole, Agent],
    ) -> None:
        self._lab = lab
        self._wake = threading.Event()
        self._signal: str | None = None
        self._closing = False
        plant = Plant(
            contract=lab.contract,
            state=lab.state,
            ledger=lab.ledger,
            compute=compute,
            sealed=lab.sealed,
            objects=lab.objects,
            trainer=RecipeTrainer(lab.recipes, lab.sealed.open().verifier),
            clock=lab.clock,
            scratch=scratch(lab.folder),
            probing=lab.probing,
            making=lab.making,
        )
        self._engine = Engine(plant, lab.lock, self._wake.set)
        self._director = Director(lab, follower, agents)
        self._reconcile()

    def run(self) -> RunFinished:
        """Work until the end; raises Interrupted after a clean stop on SIGINT, SIGTERM or SIGHUP,
        the last unless the process was started to ignore it."""
        with self._stopping():
            self._engine.score_base()
            while self._lab.state.finished is None:
                if self._signal is not None:
                    self._leave()
                self._round()
                self._wake.wait(TICK_SECONDS)
                self._wake.clear()
            return self._lab.state.finished

    @contextlib.contextmanager
    def _stopping(self) -> Iterator[None]:
        """Signals ask for a stop meanwhile. At the end, whatever fails: tokens are taken back, jobs
        are ended, and actions that waited for them have the time to record what they used."""
        with contextlib.ExitStack() as stack:
            for number in _signals():
                stack.callback(signal.signal, number, signal.signal(number, self._stop_soon))
            stack.callback(self._director.close, TURN_SECONDS)
            stack.callback(self._lab.gateway.close, SETTLE_SECONDS)
            stack.callback(self._engine.close)
            stack.callback(self._director.revoke)
            yield

    def _round(self) -> None:
        state = self._lab.state
        self._revive_sealed()
        self._watch_the_clock()
        if state.stop_asked is not None:
            self._wind_down("stopped", state.stop_asked.reason)
            return
        if self._late():
            limit = self._lab.contract.budget.wall_seconds
            self._wind_down("budget", f"the wall clock of {limit:g} s is over")
            return
        self._engine.tick(starting=not self._closing)
        self._director.tick(self._closing)
        if state.finish_asked is not None:
            self._finish("finished", state.finish_asked.reason)

    def _watch_the_clock(self) -> None:
        """Past the wall clock nothing new starts; roles may still conclude."""
        over = self._used() > self._lab.contract.budget.wall_seconds
        if over and not self._closing:
            self._closing = True
            self._engine.cancel_all("BUDGET")

    def _late(self) -> bool:
        """Whether the time to conclude is over too."""
        limit = self._lab.contract.budget.wall_seconds
        return self._used() > limit * (1 + GRACE_SHARE) + GRACE_SECONDS

    def _used(self) -> float:
        return self._lab.state.wall(self._lab.clock.now())

    def _wind_down(self, outcome: str, reason: str) -> None:
        """Take all tokens back, end what is unfinished, and finish once nothing is out."""
        self._director.close(TURN_SECONDS)
        self._engine.cancel_all(outcome.upper())
        self._engine.tick(starting=False)
        self._finish(outcome, reason)

    def _finish(self, outcome: str, reason: str) -> None:
        """End the run, unless some job, opening, turn or action is still out. What one that Main
        finished came to is judged at that moment: nothing is flagged in between."""
        lab = self._lab
        if self._engine.busy() or not self._director.quiet():
            return
        with lab.lock:
            if lab.state.intents or lab.state.unfinished():
                return
            if outcome == "finished":
                outcome, reason = conclusion(lab.state, reason)
            claim = lab.state.claim
            champion = claim.experiment if outcome == "champion" and claim else None
            fact = RunFinished.model_validate(
                {"outcome": outcome, "champion": champion, "reason": reason[:1900]}
            )
            ticket = lab.ledger.append(OS, (fact,))
        ticket.wait()
        lab.ledger.note()

    def _reconcile(self) -> None:
        """Close what a former owner left open: intents without outcome, turns under way. Attempts
        are looked up by name in the first round."""
        lab = self._lab
        with lab.lock:
            for intent in list(lab.state.intents):
                abandoned = ActionSettled(
                    intent=intent,
                    outcome="abandoned",
                    code="OWNER_GONE",
                    message="the owner died before the outcome",
                )
                lab.ledger.append(OS, (abandoned,))
            self._director.recover()

    def _revive_sealed(self) -> None:
        """A sealed process that died is started again; its work is retried under a new fence."""
        if self._lab.sealed.pid is None:
            try:
                self._lab.sealed.restart()
            except OSError as cause:
                raise SealUnavailable("SEALED_DIED", f"cannot restart it: {cause}") from cause

    def _leave(self) -> None:
        self._engine.interrupt()
        path = shlex.quote(str(self._lab.folder.path))
        raise Interrupted(
            "INTERRUPTED", f"stopped by {self._signal}; go on with `rsi resume {path}`"
        )

    def _stop_soon(self, number: int, _frame: FrameType | None) -> None:
        self._signal = signal.Signals(number).name
        self._wake.set()


def _signals() -> tuple[signal.Signals, ...]:
    """The signals that stop a run; `nohup` keeps a run from the end of its terminal."""
    asked = (signal.SIGINT, signal.SIGTERM)
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return asked if ignored else (*asked, signal.SIGHUP)
