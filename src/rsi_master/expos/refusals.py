"""Refusals: an action is not carried out; what its caller is told, and what the record keeps.

A fault of a rule, a handler, a view or an installed recipe is a refusal too, never the end of the
owner.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rsi_master.core.action import Action
from rsi_master.core.errors import Misuse, OverBudget, PolicyDenied, RsiError
from rsi_master.core.run import REPEATS, SCREENED, ActionDenied, Denial
from rsi_master.core.text import clean
from rsi_master.expos.policy import Decision
from rsi_master.expos.screen import HITS

UNSCREENED: dict[str, object] = {"withheld": "the text was not screened"}


class Refusal(Exception):
    """`denied` is to be recorded once `said` was screened; `error` goes to the caller."""

    def __init__(self, denied: ActionDenied, error: RsiError, said: object = None) -> None:
        super().__init__(error.message)
        self.denied = denied
        self.error = error
        self.said = said

    def withheld(self, arguments: dict[str, object]) -> ActionDenied:
        """What the record keeps without the words; a foreign action's name is one of them."""
        action = self.denied.action if isinstance(self.said, Action) else "withheld"
        reason = str(arguments["withheld"])
        return self.denied.model_copy(
            update={"action": action, "arguments": arguments, "reason": reason}
        )


def by_policy(action: Action, decision: Decision) -> Refusal:
    """The policy denies or escalates."""
    kind: Denial = "escalate" if decision.answer == "escalate" else "deny"
    error = PolicyDenied(decision.rule.upper(), f"{action.name}: {decision.reason}")
    return _typed(action, kind, decision.rule, decision.reason, error)


def over_budget(action: Action, reason: str) -> Refusal:
    """The budget does not cover it."""
    error = OverBudget("OVER_BUDGET", f"{action.name}: {reason}")
    return _typed(action, "over_budget", "budget", reason, error)


def by_schema(name: str, arguments: Mapping[str, object], problem: RsiError) -> Refusal:
    """The arguments are no action; they are recorded as they came."""
    raw: dict[str, object] = {"given": repr(dict(arguments))[:2000]}
    said = (name, *arguments, *arguments.values())
    rule = "schema" if isinstance(problem, Misuse) else problem.code.lower()
    return Refusal(_denied(name, raw, "deny", rule, why(problem)), problem, said)


def sealed_text(action: Action) -> Refusal:
    """A text repeats a sealed item; the answer is the same for every split."""
    told = f"{action.name}: the text repeats a sealed item; say it otherwise"
    denied = _denied(action.name, REPEATS, "deny", SCREENED, told)
    return Refusal(denied, PolicyDenied("SEALED_TEXT", told))


def writes_no_more(action: Action) -> Refusal:
    """The node repeated sealed items too often to be told once more; nothing of it is screened."""
    told = (
        f"{action.name}: this node repeated sealed items {HITS} times and writes no more texts; "
        "actions with ids alone go on"
    )
    denied = _denied(action.name, UNSCREENED, "deny", "screen_cap", told)
    return Refusal(denied, PolicyDenied("SCREEN_CAP", told))


@contextmanager
def boundary(name: str) -> Iterator[None]:
    """Any exception within becomes an error of one line."""
    try:
        yield
    except (RsiError, Refusal):
        raise
    except Exception as cause:
        message = f"{name} failed inside the Experiment OS: {type(cause).__name__}"
        raise RsiError("INTERNAL", message) from cause


@contextmanager
def judging(action: Action) -> Iterator[None]:
    """What cannot be judged is denied: any error within becomes a refusal."""
    try:
        with boundary(action.name):
            yield
    except RsiError as fault:
        raise _typed(action, "deny", fault.code.lower(), why(fault), fault) from fault


def why(problem: RsiError) -> str:
    """The message with its cause, for the record."""
    told = f"{problem.message}: {problem.__cause__}" if problem.__cause__ else problem.message
    return told[:500]


def _typed(action: Action, kind: Denial, rule: str, reason: str, error: RsiError) -> Refusal:
    denied = _denied(action.name, action.model_dump(mode="json"), kind, rule, reason)
    return Refusal(denied, error, action)


def _denied(
    name: str, arguments: dict[str, object], kind: Denial, rule: str, reason: str
) -> ActionDenied:
    return ActionDenied(
        action=clean(name, 100), arguments=arguments, decision=kind, rule=rule, reason=reason[:500]
    )
