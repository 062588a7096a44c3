"""The table of experiments: what each did, what it continued, what it scored and cost, and whether
it counts."""

from collections.abc import Iterator

from rsi_master.core.experiment import (
    BASE,
    EvaluationRecorded,
    Experiment,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
)
from rsi_master.core.lineage import ancestors, parents
from rsi_master.core.score import Scored, Split
from rsi_master.core.state import State
from rsi_master.expos.lineage import taint
from rsi_master.interfaces import words
from rsi_master.interfaces.report import training
from rsi_master.interfaces.report.document import (
    Code,
    Inline,
    Line,
    Row,
    Section,
    Table,
    cut,
    paragraph,
)
from rsi_master.interfaces.report.refs import ID_CHARS, experiment_anchor
from rsi_master.interfaces.report.subject import Subject

HEAD = ("experiment", "whose", "recipe", "lineage", "dev", "confirm", "cost", "integrity", "end")


def experiments(subject: Subject) -> Section:
    """The section."""
    found = subject.record.state.experiments
    title = "Experiments"
    if not found:
        return Section(title, "experiments", (paragraph("There is none yet."),))
    table = Table(
        "In order of submission. Cost is device time of all attempts; training and scoring are "
        "one each. Those that failed or were flagged stay in the table, and are never selected.",
        HEAD,
        tuple(_row(subject, experiment) for experiment in found.values()),
    )
    return Section(title, "experiments", (table,))


def _row(subject: Subject, experiment: Experiment) -> Row:
    name = experiment.id
    cells: tuple[Line, ...] = (
        _name(subject, name),
        _owner(subject, experiment),
        _recipe(subject, experiment),
        _lineage(subject, name),
        _score(subject, experiment, "dev"),
        _score(subject, experiment, "confirm"),
        (_cost(experiment),),
        _integrity(subject, experiment),
        _end(subject, experiment),
    )
    return Row(cells, experiment_anchor(name))


def _name(subject: Subject, name: str) -> Line:
    """The id as it is called elsewhere, and whole."""
    short, whole = words.short(name), cut(name, ID_CHARS)
    longer = () if short == whole else (" ", Code(whole))
    return (Code(cut(short, ID_CHARS)), *longer, " ", *subject.refs.event(ExperimentQueued, name))


def _owner(subject: Subject, experiment: Experiment) -> Line:
    queued = experiment.queued
    if queued is None:
        return ("the Experiment OS",)
    told: Line = (subject.refs.node(queued.worker), f", to {queued.purpose}, seed {queued.seed}")
    if queued.replicates:
        return (*told, ", again ", subject.refs.experiment(queued.replicates))
    return told


def _recipe(subject: Subject, experiment: Experiment) -> Line:
    told = training.settings(subject, experiment)
    if experiment.queued is None or not experiment.queued.data:
        return told
    return (*told, ". Data: ", *training.data(subject, experiment))


def _lineage(subject: Subject, name: str) -> Line:
    """What it continues or merges, and what that goes back to, nearest first."""
    state, refs = subject.record.state, subject.refs
    direct = parents(state, name)
    if not direct:
        return ()
    further = [one for one in ancestors(state, name) if one not in direct]
    back: Line = (", back to ", *refs.experiments(further)) if further else ()
    return ("merges " if len(direct) > 1 else "continues ", *refs.experiments(direct), *back)


def _score(subject: Subject, experiment: Experiment, split: Split) -> Line:
    found = experiment.score(split)
    if found is None:
        return ("no score",)
    average = found.average
    items = f" on {average.n:,} items " if isinstance(average, Scored) else " "
    cite = subject.refs.event(EvaluationRecorded, experiment.id)
    return (cut(words.split(found)), items, *cite)


def _cost(experiment: Experiment) -> str:
    tries = len(experiment.attempts)
    return f"{words.seconds(experiment.device_seconds())} in {words.count(tries, 'attempt')}"


def _integrity(subject: Subject, experiment: Experiment) -> Line:
    state, cite = subject.record.state, subject.refs.event(IntegritySet, experiment.id)
    if experiment.id == BASE:
        return ("the pinned base",)
    if experiment.integrity == "flagged":
        return (f"FLAGGED: {cut(experiment.flag)} ", *cite)
    return (*_tainted(subject, state, experiment), f"{experiment.integrity} ", *cite)


def _tainted(subject: Subject, state: State, experiment: Experiment) -> Iterator[Inline]:
    bad = taint(state, experiment.id)
    if bad is not None:
        yield "TAINTED by "
        yield subject.refs.experiment(bad)
        yield ", "


def _end(subject: Subject, experiment: Experiment) -> Line:
    ended = experiment.ended
    if ended is None:
        return (experiment.lifecycle,)
    why = "" if ended.reason == "OK" else f": {ended.reason} {ended.detail}"
    cite = subject.refs.event(ExperimentEnded, experiment.id)
    return (f"{ended.lifecycle}{cut(why)} ", *cite)
