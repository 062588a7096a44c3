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
    (
        "recipe",
        "how to train: the method with its settings. sft is supervised fine-tuning on rows with "
        "their answers; rejection learns from own answers that a judge found right, grpo from "
        "rewards for own answers, dpo from pairs of a better and a worse answer; merge averages "
        "checkpoints. full trains all weights, lora small matrices beside them",
    ),
    (
        "family",
        "the source of the data, the method and which weights move, as in nano/direct \u00b7 sft "
        "\u00b7 full; settings apart",
    ),
    (
        "program, verifier",
        "a program is a function that an agent wrote, to make rows or to judge answers. The open "
        "verifier is the benchmark's own judge of answers to questions that are not sealed",
    ),
    (
        "accepted, flagged",
        "whether an experiment counts: the weights were checked to be trained as told, or somebody "
        "found a fault. What continues a flagged one, repeats it or learnt from its answers is "
        "tainted",
    ),
    (
        "supported, refuted, inconclusive, invalid",
        "what the figures of a review say of a claim, where all its comparisons are counted "
        "together: each of many is easily ahead by chance",
    ),
    (
        "active, finalised, closed, dead end",
        "a Worker is active until it has told what it found and is finalised. Main closes a "
        "direction that others beat; a dead end is finalised, and nobody builds on it",
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
        "as much; 5e-05 is 0.00005. Over all comparisons it is larger, since among many one is "
        "easily ahead. Items that hang together count as fewer that stand alone",
    ),
    ("device seconds", "time in which a training or an evaluation held a processor or accelerator"),
    ("evaluation", "the scoring of one checkpoint on one of the draws"),
    (
        "isolation",
        "what kept the jobs of the run from everything but their own input: namespaces (a file "
        "system, a network and processes of their own), landlock (rules on files and network) or "
        "none; from strong to weak",
    ),
    (
        "event, signed head",
        "the record is a list of numbered events. A signed head fixes all events up to its number: "
        "one that is changed later no longer fits it. operator-signed only: by whoever ran it, so "
        "that only an earlier head in other hands speaks against a history written anew",
    ),
)


def glossary(subject: Subject) -> Section:
    """The section, the same for every run."""
    rows = tuple(Row(((Strong(word),), (meaning,))) for word, meaning in WORDS)
    table = Table("What the words of this report mean.", ("word", "meaning"), rows)
    return Section("Words", "words", (table,))
