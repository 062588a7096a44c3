"""The law of lineages, told from the events alone: nothing builds on what was not accepted."""

from collections.abc import Mapping, Sequence

from rsi_master.core.dataset import DatasetRegistered
from rsi_master.core.event import Event
from rsi_master.core.experiment import BASE, ExperimentQueued, IntegritySet
from rsi_master.core.run import ClaimOpened
from rsi_master.expos.laws.law import flaw
from rsi_master.expos.order import Flaw


def lineage_holds(events: Sequence[Event]) -> list[Flaw]:
    """θ_in is the base or an accepted checkpoint without a flag in its lineage, in that of its data
    or in that of what it repeats, and so is whatever wrote answers in data; the holdout is opened
    for such a one alone."""
    sound: dict[str, bool] = {BASE: True}
    origins: dict[str, tuple[str, ...]] = {BASE: ()}
    writers: dict[str, tuple[str, ...]] = {}
    flaws: list[Flaw] = []
    for event in events:
        fact = event.fact
        if isinstance(fact, ExperimentQueued):
            taught = tuple(one for digest in fact.data for one in writers.get(digest, ()))
            flaws += [
                flaw("LINEAGE", event, f"{verb} {name}, not accepted")
                for verb, several in (("starts from", fact.parents()), ("learns from", taught))
                for name in several
                if not _sound(name, sound, origins)
            ]
            repeated = (fact.replicates,) if fact.replicates is not None else ()
            origins.setdefault(fact.experiment, (*fact.parents(), *taught, *repeated))
        elif isinstance(fact, DatasetRegistered):
            wrote = _writers(fact, writers)
            flaws += [
                flaw("LINEAGE", event, f"holds answers of {name}, not accepted")
                for name in wrote[:1]
                if fact.source.sampled is not None and not _sound(name, sound, origins)
            ]
            writers.setdefault(fact.artifact.digest, wrote)
        elif isinstance(fact, IntegritySet):
            flagged = sound.get(fact.experiment) is False
            sound[fact.experiment] = fact.integrity == "accepted" and not flagged
        elif isinstance(fact, ClaimOpened) and not _sound(fact.experiment, sound, origins):
            flaws.append(flaw("LINEAGE", event, f"claims {fact.experiment}, not accepted"))
    return flaws


def _writers(fact: DatasetRegistered, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Whose checkpoints wrote answers of a dataset: its own writer first, then those of the data
    that it was made of."""
    own = (fact.source.sampled.experiment,) if fact.source.sampled else ()
    return (*own, *(one for digest in fact.source.parents for one in known.get(digest, ())))


def _sound(
    experiment: str, sound: Mapping[str, bool], origins: Mapping[str, tuple[str, ...]]
) -> bool:
    """Whether the experiment and all that it goes back to are accepted and not flagged."""
    seen: set[str] = set()
    open_ = [experiment]
    while open_:
        name = open_.pop()
        if not sound.get(name, False):
            return False
        if name not in seen:
            seen.add(name)
            open_ += origins.get(name, (BASE,))
    return True
