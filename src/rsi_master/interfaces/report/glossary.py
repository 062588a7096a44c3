"""The words that a report uses, for who reads one for the first time."""

from typing import Final

from rsi_master.interfaces.report.document import Row, Section, Strong, Table
from rsi_master.interfaces.report.subject import Subject

WORDS: Final = (
    ("base", "the model that the run started from; every checkpoint goes back to it"),
    (
        "sealed items",
        "the questions of the evaluator. A process of its own has them, asks and grades; nobody "
        "else sees them",
    ),
    (
        "dev, confirm, holdout",
        "three separate draws of sealed items. Workers see scores on dev; Reviewers compare on "
        "confirm, by which recipes are ranked too; the holdout is opened once, for the result",
    ),
    (
        "Main, Worker, Reviewer",
        "the roles. Main opens directions and decides; a Worker tries experiments in one of them; "
        "a Reviewer compares what Workers found. A playbook fills a role by fixed rules, without "
        "a language model",
    ),
    ("direction", "a task and a hypothesis that Main gives to a Worker"),
    (
        "experiment",
        "one training: from the base or a checkpoint, by a recipe, on data of the pool, to a new "
        "checkpoint. It is known by the last letters of its id",
    ),
    ("recipe", "how to train: the method with its settings; sft is supervised fine-tuning"),
    (
        "accepted, flagged",
        "whether an experiment counts: the weights were checked to be trained as told, or somebody "
        "found a fault. What continues a flagged one is tainted",
    ),
    (
        "supported, refuted, inconclusive, invalid",
        "what the figures of a review say of a claim, where all its comparisons are counted "
        "together: each of many is easily ahead by chance",
    ),
    (
        "verification, fresh seed",
        "a recommended experiment is trained again from the base with another random seed that the "
        "contract fixed beforehand, so that luck is not chosen",
    ),
    (
        "claim, champion",
        "the first verified recipe of the ranking is scored on the holdout, beside the base. It is "
        "the champion if the interval of their difference lies above 0",
    ),
    (
        "score",
        "per cent of the items of a task answered right (in part, where a task gives credit), "
        "averaged over tasks",
    ),
    (
        "interval, points, p",
        "behind a score in brackets: where the true score lies, in 95 of 100 cases. Differences "
        "are in percentage points. p is how often chance alone would make two equal models differ "
        "as much; 5e-05 is 0.00005",
    ),
    ("device seconds", "time in which a training or an evaluation held a processor or accelerator"),
    ("evaluation", "the scoring of one checkpoint on one of the draws"),
    (
        "event, signed head",
        "the record is a list of numbered events. A signed head fixes all events up to its number: "
        "one that is changed later no longer fits it",
    ),
)


def glossary(subject: Subject) -> Section:
    """The section, the same for every run."""
    rows = tuple(Row(((Strong(word),), (meaning,))) for word, meaning in WORDS)
    table = Table("What the words of this report mean.", ("word", "meaning"), rows)
    return Section("Words", "words", (table,))
