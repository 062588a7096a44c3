"""Lineage over the experiment graph: an edge where one continues or merges another's checkpoint."""

from rsi_master.core.state import State


def ancestors(state: State, experiment: str) -> tuple[str, ...]:
    """Ids of all that it continues down to the base, each once, nearest first: an experiment comes
    before what it continues itself."""
    order: list[str] = []
    seen: set[str] = set()
    open_ = [(experiment, False)]
    while open_:
        name, done = open_.pop()
        if done:
            order.append(name)
        elif name not in seen:
            seen.add(name)
            open_.append((name, True))
            open_ += [(parent, False) for parent in parents(state, name)]
    return tuple(reversed(order[:-1]))


def parents(state: State, experiment: str) -> tuple[str, ...]:
    """What an experiment continues or merges; nothing for the base and for unknown ids."""
    known = state.experiments.get(experiment)
    return known.queued.parents() if known is not None and known.queued else ()
