"""What several domains ask of a Worker before it may begin something."""

from rsi_master.expos.catalogue import Question


def worker_is_active(question: Question) -> str | None:
    """A finalised Worker submits nothing."""
    node = question.state.graph.nodes.get(question.caller.node)
    if node is not None and node.active():
        return None
    return f"{question.caller.node} is finalised or unknown; Main may create another Worker"


def wall_clock_is_left(question: Question) -> str | None:
    """Past the wall clock nothing new is begun."""
    state, limit = question.state, question.contract.budget.wall_seconds
    if state.wall(state.at) <= limit:
        return None
    return f"the wall clock of {limit:g} s is over; finalise"
