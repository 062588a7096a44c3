"""Carries out the orders of the research loop: turns of agents in threads of their own."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from rsi_master.agents.agent import Agent
from rsi_master.app.lab import Lab
from rsi_master.core.action import OS, Caller, Role
from rsi_master.core.errors import RsiError
from rsi_master.core.event import Event, Fact
from rsi_master.core.graph import ReviewSubmitted, WorkerFinalised
from rsi_master.core.run import FinishAsked, TurnEnded, TurnRole, TurnStarted
from rsi_master.core.score import Scored
from rsi_master.core.state import State
from rsi_master.core.turn import Ask
from rsi_master.expos.gateway import Session
from rsi_master.expos.lineage import selectable
from rsi_master.research.allocation import limits
from rsi_master.research.step import Loop, Order, ready, step

ROLES: dict[TurnRole, Role] = {
    "main": Role.MAIN,
    "worker": Role.WORKER,
    "reviewer": Role.REVIEWER,
}


@dataclass
class Turn:
    """A turn under way."""

    order: Order
    token: str
    deadline: float
    thread: threading.Thread


class LoopFollower:
    """Folds every event into the research loop, from the first one on."""

    def __init__(self, failures_allowed: int) -> None:
        self.loop = Loop(failures_allowed=failures_allowed)

    def __call__(self, event: Event) -> None:
        self.loop, _ = step(self.loop, event)


class Director:
    """Starts due turns and ends those that take too long. Owned by one thread."""

    def __init__(self, lab: Lab, follower: LoopFollower, agents: Mapping[TurnRole, Agent]) -> None:
        self._lab = lab
        self._follower = follower
        self._agents = agents
        self._turns: dict[str, Turn] = {}
        self._revoked = False

    def recover(self) -> None:
        """Turns that a former owner left open are asked again."""
        with self._lab.lock:
            for order in self._follower.loop.due:
                if order.id in self._follower.loop.started:
                    self._append(_ended(order, "interrupted", "the owner was gone"))

    def tick(self, closing: bool) -> None:
        """Start what is due; revoke the tokens of turns past their time."""
        now = self._lab.clock.monotonic()
        for turn in list(self._turns.values()):
            if not turn.thread.is_alive():
                del self._turns[turn.order.id]
            elif now > turn.deadline and turn.token:
                self._lab.tokens.revoke(turn.token)
                turn.token = ""
                seconds = self._lab.contract.research.turn_seconds
                self._end(turn.order, "failed", f"the turn took over {seconds:g} s")
        if self._lab.state.paused:
            return
        with self._lab.lock:
            orders = ready(self._follower.loop)
        for order in orders:
            self._carry_out(order, closing)

    def quiet(self) -> bool:
        """Whether no turn is under way."""
        return not any(turn.thread.is_alive() and turn.token for turn in self._turns.values())

    def revoke(self) -> None:
        """Take every token back; turns that fail from now on were interrupted."""
        self._revoked = True
        for turn in self._turns.values():
            self._lab.tokens.revoke(turn.token)
            turn.token = ""

    def close(self, seconds: float) -> None:
        """Take every token back and give each thread a moment to notice."""
        self.revoke()
        for turn in self._turns.values():
            turn.thread.join(seconds)
        with self._lab.lock:
            for order in self._follower.loop.due:
                if order.id in self._follower.loop.started:
                    self._append(_ended(order, "interrupted", "the owner was stopped"))

    def _carry_out(self, order: Order, closing: bool) -> None:
        if order.kind == "ask":
            self._start(order, closing)
            return
        with self._lab.lock:
            fact = _verdict(self._lab.state, order)
            ended = _ended(order, "done", order.reason)
            started = _started(order)
            self._lab.ledger.append(OS, (started, fact, ended))

    def _start(self, order: Order, closing: bool) -> None:
        lab = self._lab
        caller = Caller(role=ROLES[order.role], node=order.node, actor=lab.contract.research.roles)
        token = lab.tokens.issue(caller)
        with lab.lock:
            self._append(_started(order))
            ask = Ask(
                order=order.id,
                role=order.role,
                node=order.node,
                trigger=order.trigger,
                limits=limits(lab.state, lab.contract, closing),
            )
        thread = threading.Thread(
            target=self._turn, args=(order, ask, token), name=f"turn-{order.node}", daemon=True
        )
        deadline = lab.clock.monotonic() + lab.contract.research.turn_seconds
        self._turns[order.id] = Turn(order, token, deadline, thread)
        thread.start()

    def _turn(self, order: Order, ask: Ask, token: str) -> None:
        """One agent's turn; the boundary where its exceptions become a recorded outcome."""
        try:
            self._agents[order.role].act(ask, Session(self._lab.gateway, token))
        except RsiError as problem:
            # A pause or stop is no fault of the turn: it is asked again when the run goes on.
            halted = self._revoked or problem.code == "PAUSED"
            outcome = "interrupted" if halted else "failed"
            self._end(order, outcome, f"{problem.code}: {problem.message}")
        except Exception as problem:  # noqa: BLE001 - the boundary: recorded as a failed turn
            self._end(order, "failed", f"{type(problem).__name__}: {problem}")
        else:
            self._end(order, "done", "")
        self._lab.tokens.revoke(token)

    def _end(self, order: Order, outcome: str, detail: str) -> None:
        """Record the end, once: a turn that was given up is not ended by its late return."""
        with self._lab.lock:
            if order.id in self._follower.loop.started:
                self._append(_ended(order, outcome, detail))

    def _append(self, fact: Fact) -> None:
        self._lab.ledger.append(OS, (fact,))


def _verdict(state: State, order: Order) -> Fact:
    """The OS ends a Worker or Reviewer that is spent, or a run that Main left."""
    if order.kind == "finalise":
        owned = state.owned(order.node)
        able = [(_dev(state, e.id), e.id) for e in owned if selectable(state, e)]
        return WorkerFinalised(
            node=order.node,
            summary=f"ended by the OS: {order.reason}"[:1900],
            cites=tuple(e.id for e in owned),
            best=max(able)[1] if able else None,
            by="os",
        )
    if order.kind == "excuse":
        return ReviewSubmitted(
            node=order.node,
            findings=(),
            violations=(),
            regressions=(),
            missing=("the Reviewer gave no report",),
            recommend=(),
            recommendation=f"ended by the OS: {order.reason}"[:1900],
            by="os",
        )
    return FinishAsked(reason=order.reason[:1900])


def _dev(state: State, name: str) -> float:
    score = state.experiments[name].score("dev")
    return score.average.value if score and isinstance(score.average, Scored) else -1.0


def _started(order: Order) -> TurnStarted:
    return TurnStarted(order=order.id, role=order.role, node=order.node, trigger=order.trigger)


def _ended(order: Order, outcome: str, detail: str) -> TurnEnded:
    return TurnEnded.model_validate(
        {"order": order.id, "node": order.node, "outcome": outcome, "detail": detail[:500]}
    )
