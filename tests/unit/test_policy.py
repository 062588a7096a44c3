"""The policy: no view or no rule means deny, and rules only ever narrow."""

from dataclasses import replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.action import Action, Caller, Effect, Role
from rsi_master.core.contract import Contract
from rsi_master.core.model import Value
from rsi_master.core.run import RunFinished
from rsi_master.core.state import State
from rsi_master.expos.catalogue import Desk, Entry, Outcome, Question, Rule
from rsi_master.expos.policy import Answer, decide
from rsi_master.testing.rig import sketch_contract


class Look(Action):
    """Read something."""

    name: ClassVar[str] = "thing.look"
    effect: ClassVar[Effect] = "read"


class Turn(Action):
    """Change something."""

    name: ClassVar[str] = "thing.turn"
    effect: ClassVar[Effect] = "record"


CONTRACT: Contract = sketch_contract()
ACTIONS: tuple[type[Action], ...] = (Look, Turn)
HOLDERS = (Role.MAIN, Role.WORKER, Role.REVIEWER, Role.OPERATOR, Role.OS)
OVER = RunFinished(outcome="stopped", champion=None, reason="a person")
STRICTNESS: dict[Answer, int] = {"allow": 0, "escalate": 1, "deny": 2}


def nothing(_action: Action, _desk: Desk) -> Outcome:
    return Outcome(Value())


def entry(action: type[Action], *roles: Role) -> Entry:
    return Entry(action, nothing, {role: lambda record, _contract: record for role in roles})


def question(role: Role, action: type[Action], state: State | None = None) -> Question:
    caller = Caller(role=role, node="main")
    return Question(caller, action(), state or State.under(CONTRACT), CONTRACT)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    reason = draw(st.sampled_from([None, "because"]))
    return Rule(
        draw(st.sampled_from(["one", "other"])),
        draw(st.sampled_from(ACTIONS)),
        lambda _question: reason,
        draw(st.booleans()),
    )


roles = st.sampled_from(HOLDERS)
actions = st.sampled_from(ACTIONS)
states = st.builds(
    lambda paused, over: replace(
        State.under(CONTRACT), paused=paused, finished=OVER if over else None
    ),
    st.booleans(),
    st.booleans(),
)


@given(roles, st.sets(roles), actions, states, st.lists(rules(), max_size=5), rules())
def test_adding_a_rule_never_allows_more(
    role: Role, seen_by: set[Role], action: type[Action], state: State, old: list[Rule], new: Rule
) -> None:
    known = entry(action, *seen_by)
    before = decide(known, question(role, action, state), tuple(old))
    for place in range(len(old) + 1):
        more = (*old[:place], new, *old[place:])
        after = decide(known, question(role, action, state), more)
        assert STRICTNESS[after.answer] >= STRICTNESS[before.answer]


@given(roles, st.sets(roles), actions, states, st.lists(rules(), max_size=5))
def test_no_view_means_deny_and_every_answer_has_a_reason(
    role: Role, seen_by: set[Role], action: type[Action], state: State, given_rules: list[Rule]
) -> None:
    decision = decide(entry(action, *seen_by), question(role, action, state), tuple(given_rules))
    assert decision.rule and decision.reason
    if role not in seen_by:
        assert decision.answer == "deny"
        assert decision.rule == "role"


@pytest.mark.parametrize(("action", "answer"), [(Look, "allow"), (Turn, "deny")])
def test_a_finished_run_is_only_read(action: type[Action], answer: Answer) -> None:
    state = State.under(CONTRACT)
    state.finished = OVER
    for role in HOLDERS:
        assert decide(entry(action, role), question(role, action, state), ()).answer == answer


def test_a_paused_run_takes_actions_of_the_operator_alone() -> None:
    state = State.under(CONTRACT)
    state.paused = True
    for role in HOLDERS:
        answer = decide(entry(Turn, role), question(role, Turn, state), ()).answer
        assert answer == ("allow" if role == Role.OPERATOR else "deny")
        assert decide(entry(Look, role), question(role, Look, state), ()).answer == "allow"


def test_a_denial_wins_over_an_earlier_escalation() -> None:
    ask = Rule("ask", Turn, lambda _question: "a person decides", escalate=True)
    no = Rule("no", Turn, lambda _question: "never")
    for order in ((ask, no), (no, ask)):
        decision = decide(entry(Turn, Role.MAIN), question(Role.MAIN, Turn), order)
        assert (decision.answer, decision.rule) == ("deny", "no")
    assert decide(entry(Turn, Role.MAIN), question(Role.MAIN, Turn), (ask,)).answer == "escalate"


def test_a_rule_of_another_action_says_nothing() -> None:
    no = Rule("no", Look, lambda _question: "never")
    assert decide(entry(Turn, Role.MAIN), question(Role.MAIN, Turn), (no,)).answer == "allow"
