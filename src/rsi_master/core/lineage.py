"""Lineage over the experiment graph: an edge where one continues or merges another's checkpoint.

Data has a lineage too: rows that a checkpoint wrote lead back to its experiment. What is trained
again for a verification follows checkpoints alone, since recorded rows stay as they are; taint
follows both.
"""

from collections.abc import Callable, Iterable

from rsi_master.core.state import State

Step = Callable[[State, str], tuple[str, ...]]


def parents(state: State, experiment: str) -> tuple[str, ...]:
    """What an experiment continues or merges; nothing for the base and for unknown ids."""
    known = state.experiments.get(experiment)
    return known.queued.parents() if known is not None and known.queued else ()


def writers(state: State, datasets: Iterable[str]) -> tuple[str, ...]:
    """Ids of the experiments, or `base`, whose checkpoints wrote rows of the datasets or of what
    these were made of, each once."""
    found: dict[str, None] = {}
    open_, seen = list(datasets), set[str]()
    while open_:
        digest = open_.pop()
        fact = state.datasets.get(digest)
        if digest in seen or fact is None:
            continue
        seen.add(digest)
        open_ += fact.source.parents
        if fact.source.sampled is not None:
            found.setdefault(fact.source.sampled.experiment)
    return tuple(found)


def teachers(state: State, experiment: str) -> tuple[str, ...]:
    """The writers of the data that an experiment was trained on."""
    known = state.experiments.get(experiment)
    return writers(state, known.queued.data) if known is not None and known.queued else ()


def origins(state: State, experiment: str) -> tuple[str, ...]:
    """All that an experiment directly comes from: its parents, and the writers of its data."""
    return tuple(dict.fromkeys((*parents(state, experiment), *teachers(state, experiment))))


def ancestors(state: State, experiment: str, step: Step = parents) -> tuple[str, ...]:
    """Ids of all that it continues down to the base, each once, nearest first: an experiment comes
    before what it continues itself. With `step=origins`, of all that it comes from."""
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
            open_ += [(parent, False) for parent in step(state, name)]
    return tuple(reversed(order[:-1]))
