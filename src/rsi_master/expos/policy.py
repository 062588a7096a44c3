"""The policy: allow, deny or escalate, always with the rule and the reason. No rule means deny."""

from dataclasses import dataclass
from typing import Literal

from rsi_master.core.action import Role
from rsi_master.expos.catalogue import Entry, Question, Rule

Answer = Literal["allow", "deny", "escalate"]


@dataclass(frozen=True)
class Decision:
    """The answer, the name of the rule that gave it, and why."""

    answer: Answer
    rule: str
    reason: str


def decide(entry: Entry, question: Question, rules: tuple[Rule, ...]) -> Decision:
    """Judge one action. Denials win over escalations, both over permission; adding a rule never
    allows more."""
    role = question.caller.role
    name = entry.action.name
    if role not in entry.views:
        return Decision("deny", "role", f"it is not an action of the role {role.value}")
    if question.state.finished is not None and entry.action.effect != "read":
        return Decision("deny", "finished", "the run is finished; its record takes no more actions")
    begins = entry.action.effect != "read" and not question.done
    if question.state.paused and begins and role != Role.OPERATOR:
        return Decision("deny", "paused", "the run is paused; wait until the operator resumes it")
    escalation: Decision | None = None
    for rule in rules:
        if rule.action is not entry.action:
            continue
        reason = rule.applies(question)
        if reason is None:
            continue
        if not rule.escalate:
            return Decision("deny", rule.name, reason)
        escalation = escalation or Decision("escalate", rule.name, reason)
    return escalation or Decision("allow", "view", f"{role.value} may use {name}")
