"""The gateway: the life of an action, from a token to an answer.

Who asks, may it, is it affordable; the intent is durable before the effect, the outcome after;
the answer is the role's view. One lock orders decisions and effects; nobody holds it while waiting
for the disk, so that intents of several callers share one commit.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from rsi_master.core.action import Action, Amounts, Caller, Role
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse, OverBudget, PolicyDenied, RsiError
from rsi_master.core.event import Event, Fact
from rsi_master.core.model import Value
from rsi_master.core.ports import Clock, Ids, ObjectStore, Sealed
from rsi_master.core.recipe import Recipe
from rsi_master.core.run import ActionDenied, ActionIntended, ActionRead, ActionSettled
from rsi_master.core.state import State
from rsi_master.expos.catalogue import Catalogue, Desk, Entry, Outcome, Question
from rsi_master.expos.ledger import Ledger
from rsi_master.expos.policy import Decision, decide
from rsi_master.expos.screen import Screen
from rsi_master.expos.tokens import Tokens

WITHHELD: dict[str, object] = {"withheld": "the text repeats a sealed item"}


class Gateway(Protocol):
    """The only way in, in this process or over a socket."""

    def submit(self, token: str, name: str, arguments: Mapping[str, object]) -> Value:
        """Carry out one action; raises an RsiError that says why not."""


@dataclass(frozen=True)
class Parts:
    """What the gateway works with; picked by the application."""

    contract: Contract
    catalogue: Catalogue
    recipes: Mapping[str, Recipe]
    ledger: Ledger
    state: State
    tokens: Tokens
    objects: ObjectStore
    sealed: Sealed
    clock: Clock
    ids: Ids


class LocalGateway:
    """The gateway in the owner's process. Thread-safe."""

    def __init__(self, parts: Parts, lock: threading.RLock) -> None:
        self._parts = parts
        self._lock = lock
        self._screen = Screen(parts.sealed)

    def submit(self, token: str, name: str, arguments: Mapping[str, object]) -> Value:
        """See `Gateway`."""
        caller = self._parts.tokens.caller(token)
        action = self._typed(caller, name, arguments)
        entry = self._parts.catalogue.entry(name)
        if entry.action.effect == "read":
            return self._read(caller, entry, action)
        outcome = self._write(caller, entry, action)
        return entry.views[caller.role](outcome.record, self._parts.contract)

    def _typed(self, caller: Caller, name: str, arguments: Mapping[str, object]) -> Action:
        try:
            return self._parts.catalogue.parse(name, arguments)
        except Misuse as problem:
            if caller.role != Role.OPERATOR:
                self._record_misfit(caller, name, arguments, problem)
            raise

    def _read(self, caller: Caller, entry: Entry, action: Action) -> Value:
        with self._lock:
            self._judge(caller, entry, action)
            if caller.role != Role.OPERATOR:
                self._append(caller, ActionRead(action=action.name, arguments=_plain(action)))
            outcome = self._handled(caller, entry, action, "")
            return entry.views[caller.role](outcome.record, self._parts.contract)

    def _write(self, caller: Caller, entry: Entry, action: Action) -> Outcome:
        parts = self._parts
        intent = parts.ids.fresh()
        try:
            self._screen.check(action)
        except PolicyDenied as problem:
            self._record_denial(caller, action.name, WITHHELD, "deny", "screen", problem.message)
            raise
        with self._lock:
            self._judge(caller, entry, action)
            reserve = self._afford(caller, entry, action)
            fact = ActionIntended(
                intent=intent, action=action.name, arguments=_plain(action), reserve=reserve
            )
            intended = parts.ledger.append(caller, (fact,))
        intended.wait()
        with self._lock:
            outcome, settled = self._effect(caller, entry, action, intent)
            ticket = parts.ledger.append(caller, (*outcome.facts, settled))
        ticket.wait()
        if isinstance(outcome.record, RsiError):
            raise outcome.record
        return outcome

    def _effect(
        self, caller: Caller, entry: Entry, action: Action, intent: str
    ) -> tuple[Outcome, ActionSettled]:
        """Judge again and run the handler: what was allowed may be taken since the intent."""
        try:
            decision = self._decision(caller, entry, action)
            if decision.answer != "allow":
                raise _denied(action, decision)
            outcome = self._handled(caller, entry, action, intent)
        except RsiError as problem:
            why = (
                f"{problem.message}: {problem.__cause__}" if problem.__cause__ else problem.message
            )
            failed = ActionSettled(
                intent=intent, outcome="failed", code=problem.code, message=why[:500]
            )
            return Outcome(record=problem), failed
        settled = ActionSettled(
            intent=intent, outcome="done", heir=outcome.heir, spent=outcome.spent
        )
        return outcome, settled

    def _handled(self, caller: Caller, entry: Entry, action: Action, intent: str) -> Outcome:
        """The boundary where any exception of a handler becomes an error of one line."""
        try:
            return entry.handle(action, self._desk(caller, intent))
        except RsiError:
            raise
        except Exception as cause:
            message = f"{action.name} failed inside the Experiment OS: {type(cause).__name__}"
            raise RsiError("INTERNAL", message) from cause

    def _decision(self, caller: Caller, entry: Entry, action: Action) -> Decision:
        parts = self._parts
        question = Question(caller, action, parts.state, parts.contract, parts.recipes)
        return decide(entry, question, parts.catalogue.rules)

    def _judge(self, caller: Caller, entry: Entry, action: Action) -> None:
        decision = self._decision(caller, entry, action)
        if decision.answer != "allow":
            kind = decision.answer
            self._record_denial(
                caller, action.name, _plain(action), kind, decision.rule, decision.reason
            )
            raise _denied(action, decision)

    def _afford(self, caller: Caller, entry: Entry, action: Action) -> Amounts:
        parts = self._parts
        if entry.reserve is None:
            return Amounts()
        need = entry.reserve(action, parts.state, parts.contract, parts.recipes)
        left = parts.state.books.left()
        lacking = left.lacking(need)
        if lacking:
            name = lacking[0]
            reason = (
                f"{name} {getattr(need, name):g} needed, {getattr(left, name):g} left; "
                "submit something smaller or finish"
            )
            self._record_denial(
                caller, action.name, _plain(action), "over_budget", "budget", reason
            )
            raise OverBudget("OVER_BUDGET", f"{action.name}: {reason}")
        return need

    def _record_misfit(
        self, caller: Caller, name: str, arguments: Mapping[str, object], problem: Misuse
    ) -> None:
        """Arguments without a schema are recorded as they came, unless they hold a sealed item."""
        raw: dict[str, object] = {"given": repr(dict(arguments))[:2000]}
        if self._screen.holds((name, *arguments, *arguments.values())):
            self._record_denial(caller, "withheld", WITHHELD, "deny", "schema", "sealed text")
            return
        self._record_denial(caller, name, raw, "deny", "schema", problem.message)

    def _record_denial(
        self,
        caller: Caller,
        name: str,
        arguments: Mapping[str, object],
        decision: str,
        rule: str,
        reason: str,
    ) -> None:
        fact = ActionDenied.model_validate(
            {
                "action": name[:100],
                "arguments": dict(arguments),
                "decision": decision,
                "rule": rule,
                "reason": reason[:500],
            }
        )
        self._append(caller, fact)

    def _append(self, caller: Caller, fact: Fact) -> None:
        with self._lock:
            self._parts.ledger.append(caller, (fact,))

    def _recent(self, count: int) -> tuple[Event, ...]:
        start = max(0, self._parts.state.position + 1 - count)
        return tuple(self._parts.ledger.events(start))

    def _desk(self, caller: Caller, intent: str) -> Desk:
        parts = self._parts
        return Desk(
            state=parts.state,
            contract=parts.contract,
            caller=caller,
            intent=intent,
            objects=parts.objects,
            sealed=parts.sealed,
            recipes=parts.recipes,
            fresh=parts.ids.fresh,
            now=parts.clock.now(),
            recent=self._recent,
        )


@dataclass(frozen=True)
class Session:
    """A token bound to a gateway: all that an agent is given."""

    gateway: Gateway
    token: str

    def act(self, name: str, **arguments: object) -> Value:
        """Submit one action under this token."""
        return self.gateway.submit(self.token, name, arguments)


Opener = Callable[[Caller], Session]


def _denied(action: Action, decision: Decision) -> PolicyDenied:
    return PolicyDenied(decision.rule.upper(), f"{action.name}: {decision.reason}")


def _plain(action: Action) -> dict[str, object]:
    return action.model_dump(mode="json")
