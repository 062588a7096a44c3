"""What is held, what is only detected, and what nothing covers: the short form of
docs/threat-model.md, on which a test holds it."""

from dataclasses import dataclass
from typing import Final

HELD: Final = (
    "No action takes a path, an address, a shell, weights or tensors: checkpoints come from the "
    "pinned base and from recorded jobs alone.",
    "Data has an id only after it was scanned, and a recipe takes data by id.",
    "No role is ever shown prompts or references of sealed items; the process that has them "
    "answers with aggregates, and Reviewers with outputs and verdicts by opaque item id.",
    "The holdout is opened once for a sealed set, counted before it happens; champion and base are "
    "scored on the same items.",
)
DETECTED: Final = (
    "Copies of sealed items in data and in texts, where case, width, spacing and punctuation hide "
    "nothing. The recall on anything that is not a copy is not measured in this record.",
    "Weights that did not move, moved where they should not, or are not those that were scored.",
    "A record that was altered, cut or reordered, as far as signed heads cover it.",
)


@dataclass(frozen=True)
class Gap:
    """What is not covered, and under which words of the threat model it stands: the attempt in its
    table, or the heading of its section."""

    under: str
    told: str


UNCOVERED: Final = (
    Gap(
        "train on test items",
        "Paraphrases, translations and other notations of sealed items, and what a model or a "
        "teacher remembers of public ones.",
    ),
    Gap("a contaminated base", "A base that had learnt sealed items before the run."),
    Gap(
        "train on what a model itself says",
        "What a model samples while it is trained by its own answers: only data is scanned.",
    ),
    Gap(
        "launder a flagged checkpoint through its answers",
        "Rows that were in the pool before, byte for byte; and programs of agents, through which "
        "no taint passes: answers that an agent read and wrote into the text of a program become "
        "rows without their writer.",
    ),
    Gap(
        "write rows by a program",
        "Rows that a program makes as a paraphrase, a translation or a code that only the trained "
        "model is to read.",
    ),
    Gap(
        "hide an item in a program",
        "A text that a program decodes when it runs. As a row it meets the scan; in a judge of "
        "answers it can only judge answers to scanned prompts.",
    ),
    Gap(
        "ask the scan by what a program makes",
        "Guesses at sealed items that a program makes as rows, of which none is one: that the set "
        "passes tells that.",
    ),
    Gap(
        "a reward that pays for something else than the task",
        "A reward that pays for something else than the task: it is a choice of training, and "
        "scores do not come from it.",
    ),
    Gap(
        "ask the open verifier for answers",
        "A benchmark whose open verifier knows the answer to a paraphrase of a sealed item.",
    ),
    Gap(
        "a checkpoint that is not a training",
        "Which rows moved the weights: that rests on replaying the recorded job.",
    ),
    Gap("swap recipe or evaluator during a run", "What a recipe imports beside its own package."),
    Gap(
        "remove the notes, then change the record",
        "An operator who cuts a record down to where no note is due, and resumes it.",
    ),
    Gap(
        "rewrite and re-sign the whole history",
        "An operator who writes and signs a new history of which nobody else holds a note.",
    ),
    Gap("throw away whole runs and show the best", "An operator who discards whole runs."),
    Gap(
        "Isolation tiers",
        "Faults of the kernel, what can be inferred from timing, by jobs and by programs of "
        "agents, and what an installed plugin ships.",
    ),
    Gap(
        "Without a second account",
        "Other processes of the operator's own account: they read what the operator reads.",
    ),
)
