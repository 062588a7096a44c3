"""The gateway: the life of an action, from a token to an answer.

Who asks, may it, is it affordable; the intent is durable before the effect, the outcome after;
the answer is the role's view. One lock orders decisions and effects; nobody holds it while waiting
for the disk or the sealed process, so that intents of several callers share one commit.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rsi_master.core.action import Action, Amounts, Caller, Role
from rsi_master.core.budget import ZERO, reservation
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Broken, Misuse, RsiError
from rsi_master.core.event import Event, Fact
from rsi_master.core.model import Value
from rsi_master.core.ports import Clock, Ids, ObjectStore, Sealed
from rsi_master.core.run import REPEATS, ActionIntended, ActionRead, ActionSettled
from rsi_master.core.state import State
from rsi_master.expos import refusals
from rsi_master.expos.catalogue import Catalogue, Desk, Entry, Question
from rsi_master.expos.ledger import Ledger, Ticket
from rsi_master.expos.making import Making
from rsi_master.expos.policy import decide
from rsi_master.expos.probing import Probing
from rsi_master.expos.refusals import Refusal, boundary, judging
from rsi_master.expos.screen import HITS, Screen, texts
from rsi_master.expos.tokens import Tokens


class Gateway(Protocol):
    """The only way in, in this process or over a socket."""

    def submit(self, token: str, name: str, arguments: Mapping[str, object]) -> Value:
        """Carry out one action; raises an RsiError that says why not."""


ARGUMENT_CHARS = 64_000


@dataclass(frozen=True)
class Parts:
    """What the gateway works with; picked by the application."""

    contract: Contract
    catalogue: Catalogue
    ledger: Ledger
    state: State
    tokens: Tokens
    objects: ObjectStore
    sealed: Sealed
    clock: Clock
    ids: Ids
    probing: Probing
    making: Making


@dataclass(frozen=True)
class Request:
    """An action on its way: who asks, and what it is to the Experiment OS."""

    caller: Caller
    entry: Entry
    action: Action


@dataclass(frozen=True)
class Work:
    """What was done under an intent before its handler: what of the budget that used, and the facts
    that tell of it whatever is decided then."""

    intent: str
    prepared: object = None
    used: Amounts = ZERO
    evidence: tuple[Fact, ...] = ()


class LocalGateway:
    """The gateway in the owner's process. Thread-safe; `close` before the ledger is."""

    def __init__(self, parts: Parts, lock: threading.RLock) -> None:
        self._parts = parts
        self._lock = lock
        self._screen = Screen(parts.sealed)
        self._closed = False
        self._under_way: set[str] = set()
        self._settled = threading.Condition(lock)

    def close(self, seconds: float) -> bool:
        """Let no further action in, and wait until each that has an intent has its outcome; false
        when some has none after so many seconds. Whatever they wait for must have been ended."""
        with self._settled:
            self._closed = True
            return self._settled.wait_for(lambda: not self._under_way, seconds)

    def submit(self, token: str, name: str, arguments: Mapping[str, object]) -> Value:
        """See `Gateway`."""
        caller = self._parts.tokens.caller(token)
        if len(str(arguments)) > ARGUMENT_CHARS:
            raise Misuse(
                "TOO_LARGE", f"{name[:60]!r}: over {ARGUMENT_CHARS} characters of arguments"
            )
        try:
            request = self._typed(caller, name, arguments)
            if request.entry.action.effect == "read":
                return self._read(request)
            return self._write(request)
        except Refusal as refusal:
            self._record(caller, refusal)
            raise refusal.error from refusal.error.__cause__

    def _typed(self, caller: Caller, name: str, arguments: Mapping[str, object]) -> Request:
        try:
            with boundary(name):
                action = self._parts.catalogue.parse(name, arguments)
                return Request(caller, self._parts.catalogue.entry(name), action)
        except RsiError as problem:
            if caller.role == Role.OPERATOR and isinstance(problem, Misuse):
                raise
            raise refusals.by_schema(name, arguments, problem) from problem

    def _read(self, request: Request) -> Value:
        caller, entry, action = request.caller, request.entry, request.action
        with self._lock:
            self._judge(request)
            if caller.role != Role.OPERATOR:
                self._append(caller, ActionRead(action=action.name, arguments=_plain(action)))
            with boundary(action.name):
                outcome = entry.handle(action, self._desk(caller, ""))
                return entry.views[caller.role](outcome.record, self._parts.contract)

    def _write(self, request: Request) -> Value:
        intent = self._parts.ids.fresh()
        with self._lock:
            self._judge(request)
        self._listen(request)
        with self._lock:
            self._judge(request)
            intended = self._begin(request, intent)
        try:
            intended.wait()
            return self._work(request, intent)
        finally:
            with self._settled:
                self._under_way.discard(intent)
                self._settled.notify_all()

    def _begin(self, request: Request, intent: str) -> Ticket:
        """The intent, unless the owner stops: nobody would wait for its outcome."""
        if self._closed:
            raise Broken("OWNER_STOPS", "the owner of the run stops; ask again when it is resumed")
        intended = self._intend(request, intent)
        self._under_way.add(intent)
        return intended

    def _work(self, request: Request, intent: str) -> Value:
        """Carry the action out and record its outcome."""
        work = Work(intent)
        try:
            work = self._prepared(request, intent)
            answer, settled = self._carry_out(request, work)
        except (RsiError, Refusal) as problem:
            error = problem.error if isinstance(problem, Refusal) else problem
            self._fail(request, work, error)
            raise error from error.__cause__
        settled.wait()
        return answer

    def _listen(self, request: Request) -> None:
        """The screen, asked without the lock. What it finds is counted, and told only to a node
        that may still be told when it was counted."""
        with judging(request.action):
            held = self._screen.holds(request.action)
        if not held:
            return
        with self._lock:
            self._judge(request)
            refusal = refusals.sealed_text(request.action)
            self._append(request.caller, refusal.denied)
        raise refusal.error

    def _intend(self, request: Request, intent: str) -> Ticket:
        fact = ActionIntended(
            intent=intent,
            action=request.action.name,
            arguments=_plain(request.action),
            reserve=self._afford(request),
        )
        return self._parts.ledger.append(request.caller, (fact,))

    def _prepared(self, request: Request, intent: str) -> Work:
        """The slow part of an action, done without the lock."""
        entry, action = request.entry, request.action
        if entry.prepare is None:
            return Work(intent)
        with boundary(action.name):
            found = entry.prepare(action, self._desk(request.caller, intent))
            return Work(
                intent,
                found,
                entry.used(found) if entry.used else ZERO,
                entry.evidence(found) if entry.evidence else (),
            )

    def _carry_out(self, request: Request, work: Work) -> tuple[Value, Ticket]:
        """Judge again, run the handler: what was allowed may be taken since the intent. The answer
        is made before anything is recorded, so that a fault in it leaves nothing."""
        parts, caller, entry, action = self._parts, request.caller, request.entry, request.action
        with self._lock:
            self._judge(request, work.intent)
            with boundary(action.name):
                outcome = entry.handle(action, self._desk(caller, work.intent, work.prepared))
                answer = entry.views[caller.role](outcome.record, parts.contract)
            settled = ActionSettled(
                intent=work.intent, outcome="done", heir=outcome.heir, spent=work.used
            )
            return answer, parts.ledger.append(caller, (*outcome.facts, settled))

    def _fail(self, request: Request, work: Work, error: RsiError) -> None:
        fact = ActionSettled(
            intent=work.intent,
            outcome="failed",
            code=error.code,
            message=refusals.why(error),
            spent=work.used,
        )
        with self._lock:
            settled = self._parts.ledger.append(request.caller, (*work.evidence, fact))
        settled.wait()

    def _judge(self, request: Request, intent: str = "") -> None:
        """Raise a Refusal unless the policy allows the action and its node may still write."""
        parts, action, node = self._parts, request.action, request.caller.node
        done = bool(intent) and request.entry.prepare is not None
        question = Question(request.caller, action, parts.state, parts.contract, intent, done)
        with judging(action):
            decision = decide(request.entry, question, parts.catalogue.rules)
        if decision.answer != "allow":
            raise refusals.by_policy(action, decision)
        caught = parts.state.screened.get(node, 0)
        if caught >= HITS and request.entry.action.effect != "read" and texts(action):
            raise refusals.writes_no_more(action)

    def _afford(self, request: Request) -> Amounts:
        parts, action = self._parts, request.action
        if request.entry.reserve is None:
            return Amounts()
        with judging(action):
            need = reservation(request.entry.reserve(action, parts.state, parts.contract))
            left = parts.state.books.left()
            lacking = left.lacking(need)
            if lacking:
                name = lacking[0]
                reason = (
                    f"{name} {getattr(need, name):g} needed, {getattr(left, name):g} left; "
                    "submit something smaller or finish"
                )
                raise refusals.over_budget(action, reason)
        return need

    def _record(self, caller: Caller, refusal: Refusal) -> None:
        """A refused action is recorded as it came, unless its words are not fit for the record.

        What the screen finds is counted, since how long it took tells something too; of a node that
        was caught too often nothing is screened.
        """
        with self._lock:
            caught = self._parts.state.screened.get(caller.node, 0)
        try:
            if caught >= HITS and texts(refusal.said):
                denied = refusal.withheld(refusals.UNSCREENED)
            else:
                with boundary("the screen"):
                    held = self._screen.holds(refusal.said)
                denied = refusal.withheld(REPEATS) if held else refusal.denied
        except RsiError:
            denied = refusal.withheld(refusals.UNSCREENED)
        self._append(caller, denied)

    def _append(self, caller: Caller, fact: Fact) -> None:
        """Record a read or a denial; a finished run's record takes nothing more."""
        with self._lock:
            if self._parts.state.finished is None:
                self._parts.ledger.append(caller, (fact,))

    def _recent(self, count: int) -> tuple[Event, ...]:
        start = max(0, self._parts.state.position + 1 - count)
        return tuple(self._parts.ledger.events(start))

    def _desk(self, caller: Caller, intent: str, prepared: object = None) -> Desk:
        parts = self._parts
        return Desk(
            state=parts.state,
            contract=parts.contract,
            caller=caller,
            intent=intent,
            objects=parts.objects,
            sealed=parts.sealed,
            probing=parts.probing,
            making=parts.making,
            fresh=parts.ids.fresh,
            now=parts.clock.now(),
            recent=self._recent,
            prepared=prepared,
        )


@dataclass(frozen=True)
class Session:
    """A token bound to a gateway: all that an agent is given."""

    gateway: Gateway
    token: str

    def act(self, name: str, **arguments: object) -> Value:
        """Submit one action under this token."""
        return self.gateway.submit(self.token, name, arguments)


def _plain(action: Action) -> dict[str, object]:
    return action.model_dump(mode="json")
