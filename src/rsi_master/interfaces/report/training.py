"""How an experiment was trained, with references: its settings, the program that judged its answers
and the data that it learnt from."""

from rsi_master.core.experiment import Experiment
from rsi_master.core.lineage import teachers
from rsi_master.core.program import KINDS
from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import Line, cut, joined
from rsi_master.interfaces.report.subject import Subject

RECIPE_CHARS = 600


def judge(experiment: Experiment) -> str | None:
    """The id of the program of an agent that judged answers in the training, if one did."""
    recipe = experiment.queued.recipe if experiment.queued else {}
    found = (recipe.get(kind) for kind in KINDS)
    return next((value for value in found if isinstance(value, str)), None)


def settings(subject: Subject, experiment: Experiment) -> Line:
    """The recipe with its settings."""
    if experiment.queued is None:
        return ("the base model as it is",)
    program = judge(experiment)
    recipe = experiment.queued.recipe.items()
    fields = {key: value for key, value in recipe if program is None or value != program}
    told = cut(words.recipe(fields), RECIPE_CHARS)
    if program is None:
        return (told,)
    return (told, ", answers judged by the program ", subject.refs.program(program))


def data(subject: Subject, experiment: Experiment) -> Line:
    """Each dataset with what it holds, and whose answers are in them."""
    if experiment.queued is None or not experiment.queued.data:
        return ("none",)
    found = tuple(_dataset(subject, digest) for digest in experiment.queued.data)
    wrote = teachers(subject.record.state, experiment.id)
    answers: Line = (", with answers of ", *subject.refs.experiments(wrote)) if wrote else ()
    return (*joined(found), *answers)


def _dataset(subject: Subject, digest: str) -> Line:
    fact, link = subject.record.state.datasets.get(digest), subject.refs.dataset(digest)
    if fact is None:
        return (link, ", an unknown dataset")
    return (link, f", {fact.rows:,} {fact.holds} of {cut(fact.source.origin)}")
