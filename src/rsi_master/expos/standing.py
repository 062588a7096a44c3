"""What several domains ask before something begins: of a Worker, a checkpoint, the budget, the
isolation."""

from collections.abc import Callable, Iterable

from rsi_master.core.budget import ZERO
from rsi_master.expos.catalogue import Question, Reserve
from rsi_master.expos.lineage import refusal_to_continue, selectable, verification


def worker_is_active(question: Question) -> str | None:
    """A finalised Worker submits nothing."""
    node = question.state.graph.nodes.get(question.caller.node)
    if node is not None and node.active():
        return None
    return f"{question.caller.node} is finalised or unknown; Main may create another Worker"


def wall_clock_is_left(question: Question) -> str | None:
    """Past the wall clock nothing new is begun; what was done by then is kept."""
    if question.done:
        return None
    state, limit = question.state, question.contract.budget.wall_seconds
    if state.wall(state.at) <= limit:
        return None
    return f"the wall clock of {limit:g} s is over; finalise"


def walled(question: Question) -> str | None:
    """The isolation under the present owner holds agents' code; under `none` it would be the
    agent's shell, whatever held under former owners."""
    tier = question.state.tier
    if tier not in (None, "none"):
        return None
    return f"agents' code runs under the tiers 'namespaces' and 'landlock', and here holds {tier!r}"


def checkpoint_is_open(question: Question) -> str | None:
    """The experiment of the action is the base, or what the Worker might continue."""
    asked = question.action.experiment
    return refusal_to_continue(question.state, question.caller.node, asked, "experiment")


def its_own(question: Question) -> Iterable[str]:
    """The experiment that the action names."""
    return (question.action.experiment,)


def every_open(question: Question) -> Iterable[str]:
    """The experiments that are or may become selectable; none once the job of the action has run,
    whose seconds are spent whatever is decided."""
    if question.done:
        return ()
    state = question.state
    known = [e for e in state.experiments.values() if e.queued is not None]
    return tuple(e.id for e in known if e.ended is None or selectable(state, e))


def verification_stays_affordable(
    reserve: Reserve, of: Callable[[Question], Iterable[str]] = its_own
) -> Callable[[Question], str | None]:
    """The rule that an action which takes `reserve` leaves enough to train and score the lineage of
    each of those experiments again, on a fresh seed."""

    def rule(question: Question) -> str | None:
        state, left = question.state, question.left()
        taken = reserve(question.action, state, question.contract)
        for name in of(question):
            again = verification(state, (name,))
            lacking = left.lacking(taken.plus(again))
            if again != ZERO and lacking:
                return f"the {lacking[0]} left would not cover the verification of {name}"
        return None

    return rule
