"""What the Experiment OS knows of actions: an entry each, handed in by the application.

An entry names the handler, the view of each role and the rule that reserves budget. A role
without a view may not use the action at all.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from rsi_master.core.action import Action, Amounts, Caller, Role
from rsi_master.core.budget import ZERO
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.event import Event, Fact
from rsi_master.core.model import Value
from rsi_master.core.ports import ObjectStore, Sealed
from rsi_master.core.state import State
from rsi_master.expos.making import Making
from rsi_master.expos.probing import Probing


@dataclass(frozen=True)
class Desk:
    """All that a handler may touch. Handlers read the state and return facts; they write nothing
    but artifacts, which are idempotent. `prepared` is what the entry's `prepare` returned; to wait
    at `probing` or `making` is for that alone."""

    state: State
    contract: Contract
    caller: Caller
    intent: str
    objects: ObjectStore
    sealed: Sealed
    probing: Probing
    making: Making
    fresh: Callable[[], str]
    now: float
    recent: Callable[[int], tuple[Event, ...]]
    prepared: Any = None


@dataclass(frozen=True)
class Outcome:
    """What a handler made: the record that views are taken from, and the facts to append."""

    record: object
    facts: tuple[Fact, ...] = ()
    heir: str | None = None


Handler = Callable[[Any, Desk], Outcome]
View = Callable[[Any, Contract], Value]
Reserve = Callable[[Any, State, Contract], Amounts]
Prepare = Callable[[Any, Desk], object]
Used = Callable[[Any], Amounts]
Evidence = Callable[[Any], tuple[Fact, ...]]


@dataclass(frozen=True)
class Whole:
    """The view of a record that the handler built for its readers: of exactly this type, and handed
    out whole."""

    kind: type[Value]

    def __call__(self, record: object, _contract: Contract) -> Value:
        if type(record) is not self.kind:
            raise TypeError(f"{type(record).__name__} is not {self.kind.__name__}")
        return record


@dataclass(frozen=True)
class Entry:
    """One action with its handler, its views by role and its reservation.

    A handler holds the owner's one lock, so slow work stands in `prepare`: it runs before, without
    the lock, when the intent is durable. The state may change under it; the policy is asked again.
    `used` says what that work took of the budget, and `evidence` which facts tell of it: it is
    spent and they are recorded, also when the action fails then.
    """

    action: type[Action]
    handle: Handler
    views: Mapping[Role, View]
    reserve: Reserve | None = None
    prepare: Prepare | None = None
    used: Used | None = None
    evidence: Evidence | None = None


@dataclass(frozen=True)
class Domain:
    """A named group of entries and the policy rules that they bring."""

    name: str
    entries: tuple[Entry, ...]
    rules: tuple["Rule", ...] = ()


@dataclass(frozen=True)
class Question:
    """What a rule is asked, before an action's intent and, with the intent's id, after it. The slow
    part of an action may be done by then: what says that nothing begins does not ask again.
    """

    caller: Caller
    action: Any
    state: State
    contract: Contract
    intent: str = ""
    done: bool = False

    def left(self) -> Amounts:
        """What is left of the budget, with what the action's own intent holds already."""
        books = self.state.books
        return books.left().plus(books.held.get(self.intent, ZERO))


@dataclass(frozen=True)
class Rule:
    """A denial or escalation for one action: `applies` returns the reason, or None.

    Rules can only narrow: what no view permits stays denied, and a rule never allows.
    """

    name: str
    action: type[Action]
    applies: Callable[[Question], str | None]
    escalate: bool = False


class Catalogue:
    """The closed set of actions of an installation."""

    def __init__(self, domains: Sequence[Domain]) -> None:
        self.domains = tuple(domains)
        self._entries = {entry.action.name: entry for d in domains for entry in d.entries}
        self.rules = tuple(rule for domain in domains for rule in domain.rules)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def entry(self, name: str) -> Entry:
        """The entry of an action; raises Misuse with the known names."""
        if name not in self._entries:
            known = ", ".join(sorted(self._entries))
            raise Misuse("UNKNOWN_ACTION", f"no action {name!r}; known: {known}")
        return self._entries[name]

    def parse(self, name: str, arguments: Mapping[str, object]) -> Action:
        """The typed action of raw arguments; raises Misuse naming the first wrong field."""
        try:
            return self.entry(name).action.model_validate(dict(arguments), strict=False)
        except ValidationError as cause:
            problem = cause.errors(include_url=False)[0]
            place = ".".join(str(part) for part in problem["loc"]) or "arguments"
            given = repr(problem["input"])[:120]
            raise Misuse("BAD_ARGUMENT", f"{name}: {place} = {given}: {problem['msg']}") from cause
