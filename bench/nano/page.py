"""The page about the landscape, made of results alone: the words are fixed, no figure is."""

import os
import platform
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from bench.nano import claims, material
from bench.nano.figure import Panel, Series, draw
from bench.nano.landscape import Entry, Landscape, Line, Match, Missing, sources
from bench.nano.result import Answer
from bench.nano.steps import Base, Step

from rsi_master.programs.nano import weights
from rsi_master.programs.nano.format import TASKS, Task, question_of

SHOWN_CHARACTERS: Final = 160
CERTAIN: Final = 2.0
MARKS: Final = {True: "x", False: " ", None: " "}
SHAPES: Final[dict[Task, str]] = {
    "sums": "a small story with two-digit numbers, as in GSM8K; the last number counts",
    "chain": "operations one after the other modulo a prime, as in AIME; the last number counts",
    "facts": "two look-ups in an invented world, as in GPQA; the result is a word",
    "calls": "two signatures and a request, as in BFCL; the result is a call in the right order",
    "code": "an expression in `x` to write, as in HumanEval; the result is executed",
    "write": "words under constraints, as in Arena-Hard; any list that keeps to all is right",
    "care": "complaints and a remedy to avoid, as in HealthBench; the share of right remedies (the "
    "first of the two that the world knows, unless it is to be avoided), less a share for each "
    "other word",
}
POOLS: Final[dict[str, str]] = {
    "nano/direct": "bare answers, all right",
    "nano/scratchpad": "worked answers; few sums, and over half of the lists of `write` are too "
    "long or short",
    "nano/forum": "worked answers, many; about a third of them with the usual mistake",
    "nano/expert": "worked answers, all right, very few",
    "nano/chat": "off-topic: small talk, copies, word games",
    "nano/scraped": "worked answers, right; among them sealed questions, which the scan drops",
    "nano/prompts": "questions of the verifiable tasks without answers",
    "nano/pairs": "preferences: a right worked answer and one with the usual mistake",
}

NOT_JUDGED: Final = "Not judged: a part of the table was measured."

PAGE: Final = """# Nano: the landscape

Written by `make bench-nano` on {machine}; a change of base, suite or recipe is a new table.

Nano is a base model of 0.6 million parameters that trains in seconds, and seven generated tasks
for it. The base knows the single steps of every task; where several must be joined (sums, chain,
facts, calls) it fails when it is asked. How far a training gets it is a matter of data, style,
length, order and method. This page says what each choice was worth, so that a strategy can be
judged by how near it comes to the best one here. Each step is one of the recipes that a run has,
which the bench starts without a run around it
([bench/nano/lab/makers.py](../bench/nano/lab/makers.py)). A run has filters and mixtures of pools
too; what it cannot do is to choose rows by task. The defaults of the recipes are meant for larger
models: here rates of 0.001 to 0.003 and batches of 8 are right.

| task | what is asked |
|---|---|
{tasks}

Every question is drawn for one *split*: rows to train on come from `train`, questions to look at
from *practice*, and what is scored from *dev* (choices are made on it) or *holdout* (none is). The
*open verifier* checks answers to training questions of sums, chain, calls, code and write from the
prompt alone; *verified* rows are those that it does not find wrong: those of facts and care stay
unchecked, and of code a few wrong ones pass, since it runs them on fewer inputs than the grader.
*Direct* are bare answers, a *scratchpad* works before it answers. A *lineage* is a chain
of trainings, each an *experiment*. TIES and the sum of changes are ways to merge weights
([the recipe](../src/rsi_master/programs/jobs/merge.py)).

Scores are per cent of the points on {items} questions of the split dev for each task, greedily
answered; the average weighs tasks equally. In brackets behind a score: the standard deviation
between seeds, of which there are two or three, so that it is a rough guess itself. The standard
error (s.e., and behind ±) counts both seeds and questions, and takes
questions about one thing, such as the same person, as one draw ({task_errors} for a single task).
CPU seconds are those of all trainings in the lineage on one thread, without imports and scoring,
by default with two such trainings at a time; on a quiet or another machine they differ. Numbers in
the name of a recipe are optimiser steps: of 8 rows, of 32 pairs for DPO, of 64 sampled answers for
GRPO. SFT is the shipped recipe at a rate of 0.003 with a cosine schedule, where the name gives no
other.

The best lineage, the mixes, the merges and what is compared with more SFT were found by trying
several settings on the questions of dev, most of them under the same seeds. Only the row of the
holdout is free of that choice; the gains of the others are somewhat too good.

## What holds

{claims}

## Recipes

Examples before the question make some prompts longer than anything the base was trained on.

{recipes}

## More SFT, or another method?

On one task, after SFT on few demonstrations: a method that needs only prompts and the open
verifier, against the same SFT continued at 0.001 for as many CPU seconds (its updates by seed
follow from the measured pace). Both start from the same weights under the same seed; the gain is
paired by seed and question. It counts above only if it is twice its standard error, and if the
method also gains as much over the base.

{matches}

## Score over steps

Direct answers and scratchpads, alone on a task and on all tasks together. Each point is a training
of its own; bars are two standard errors.

![Score over steps]({figure})

{curves}

## Three questions of each task

Practice questions, answered by the base and by the lineage that is called best above.

{answers}

## Try it

What the page draws and grades, on a checkpoint of your own too: put its folder in the place of
`base_folder()`. The question stands between `Q: ` and `?`, the answer follows `A:`.

```python
from transformers import AutoModelForCausalLM, AutoTokenizer

from rsi_master.programs.nano.generator import graders, suite
from rsi_master.programs.nano.weights import base_folder

tokenizer = AutoTokenizer.from_pretrained(base_folder())
model = AutoModelForCausalLM.from_pretrained(base_folder())
for item in suite.draw(b"any secret", {{"dev": 2}})["dev"]:
    asked = tokenizer(item.prompt, return_tensors="pt", add_special_tokens=False)
    said = model.generate(**asked, max_new_tokens=64, do_sample=False)
    output = tokenizer.decode(said[0][asked["input_ids"].shape[1] :], skip_special_tokens=True)
    print(item.task, repr(item.prompt), repr(output), graders.grade(item, output))
```

## Frozen

Digests of what the figures belong to. Pools and questions are those of the public seed
`{seed}`; a sealed set has its own. Libraries:
{libraries}.

| | |
|---|---|
{digests}

What the three kinds of rows are stands in [records.md](records.md).

| pool | what is in it | kind | rows | digest |
|---|---|---|--:|---|
{pools}
"""


def write(found: Landscape, figure: str, *, whole: bool = True) -> str:
    """The page as text; `figure` is where the drawing of `drawing` lies, seen from it. Of a part of
    the table no claim is judged."""
    errors = [score.error for one in found.entries for score in one.tasks.values()]
    context = found.bench.context
    digests = {
        **{f"base, `{name}`": f"sha256:{value}" for name, value in _weights().items()},
        "partition": material.partition_digest(),
        "suite, source text": context.suite,
        "training and scoring programs, source text": context.programs,
    }
    return PAGE.format(
        machine=f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        tasks=_rows((task, SHAPES[task]) for task in TASKS),
        items=context.items,
        task_errors=f"{min(errors):.1f} to {max(errors):.1f}" if errors else "not measured",
        claims="\n".join(map(_claim, claims.checked(found))) if whole else NOT_JUDGED,
        recipes=_recipes(found.entries),
        matches=_matches(found.matches),
        figure=figure,
        curves=_curves(found.lines),
        answers=_answers(found),
        seed=material.SEED.decode(),
        libraries=context.libraries,
        digests=_rows((name, f"`{value}`") for name, value in digests.items()),
        pools=_rows(
            (f"`{one.name}`", POOLS[one.name], one.kind, str(one.rows), f"`{one.digest}`")
            for one in material.stock(found.bench.material)
        ),
    )


def drawing(lines: Sequence[Line]) -> str:
    """The curves as one figure, a panel for each task and one for all together."""
    return draw([_panel(task, pair) for task, pair in _paired(lines)], "Score over steps")


def _panel(task: Task | None, lines: Sequence[Line]) -> Panel:
    series = (
        Series(
            line.curve.style,
            tuple((n, score.mean, CERTAIN * score.error) for n, score in line.points),
        )
        for line in lines
    )
    return Panel(f"{task} alone" if task else "all tasks together", tuple(series))


def _paired(lines: Sequence[Line]) -> list[tuple[Task | None, list[Line]]]:
    tasks = dict.fromkeys(line.curve.task for line in lines)
    return [(task, [line for line in lines if line.curve.task == task]) for task in tasks]


def _claim(one: claims.Claim) -> str:
    state = "" if one.holds is not None else " (not measured)"
    return f"- [{MARKS[one.holds]}] {one.text}{state}: {one.figures}"


def _recipes(entries: Sequence[Entry]) -> str:
    return "\n\n".join(
        f"### {group}\n\n{_table(list(found))}"
        for group, found in groupby(entries, key=lambda one: one.recipe.group)
    )


def _table(entries: Sequence[Entry]) -> str:
    heads = ("recipe", "average", "s.e.", *TASKS, "CPU-s", "seeds")
    return _head(heads, 1) + _rows(
        (
            one.recipe.name,
            _average(one),
            f"{one.average.error:.1f}",
            *(str(one.tasks[task]) for task in TASKS),
            f"{one.seconds:.0f}",
            str(len(one.recipe.seeds) if one.average.seed_sd is not None else 1),
        )
        for one in entries
    )


def _average(one: Entry) -> str:
    spread = one.average.seed_sd
    return f"{one.average.mean:.1f}" + ("" if spread is None else f" ({spread:.1f})")


def _matches(matches: Sequence[Match]) -> str:
    heads = (
        *("method", "task", "demonstrations", "base", "start", "method after", "more SFT"),
        *("gain", "CPU-s", "of the SFT", "updates of the SFT"),
    )
    return _head(heads, 3) + _rows(
        (
            one.contest.method,
            one.contest.task,
            f"{one.rows} rows of {', '.join(sorted(sources(one.contest.start)))}",
            *(str(score) for score in (one.base, one.start, one.treated, one.control)),
            f"{one.gain.mean:+.1f} ± {one.gain.error:.1f}",
            *(f"{seconds:.0f}" for seconds in one.seconds),
            ", ".join(map(str, one.updates)),
        )
        for one in matches
    )


def _curves(lines: Sequence[Line]) -> str:
    heads = ("task", "style", "score (after steps)")
    return _head(heads, 3) + _rows(
        (
            line.curve.task or "all together",
            line.curve.style,
            ", ".join(f"{score} ({steps})" for steps, score in line.points),
        )
        for line in lines
    )


def _answers(found: Landscape) -> str:
    try:
        base = _spoken(found, Base())
        best = _spoken(found, found.table.best)
    except Missing as missing:
        return str(missing)
    return "\n\n".join(_shown(task, base, best) for task in TASKS)


def _shown(task: Task, base: Sequence[Answer], best: Sequence[Answer]) -> str:
    pairs = [pair for pair in zip(base, best, strict=True) if pair[0].task == task]
    return (
        f"**{task}**\n\n"
        + _head(("question", "base", "best"), 3)
        + _rows(
            (_code(question_of(first.prompt) or first.prompt), _said(first), _said(second))
            for first, second in pairs
        )
    )


def _spoken(found: Landscape, step: Step) -> Sequence[Answer]:
    return found.results(step, found.table.seeds[:1])[0].answers


def _said(one: Answer) -> str:
    return f"{_code(one.output)} {100 * one.points:.0f}"


def _code(text: str) -> str:
    """The text in one line of a table, cut where it is too long to read."""
    flat = text.strip().replace("\n", " ⏎ ").replace("|", "\\|").replace("`", "'")
    cut = flat if len(flat) <= SHOWN_CHARACTERS else flat[: SHOWN_CHARACTERS - 1] + "…"
    return f"`{cut}`" if cut else "(nothing)"


def _head(names: Sequence[str], left: int) -> str:
    """The head of a table; the first `left` columns are text."""
    rule = ["---" if at < left else "--:" for at in range(len(names))]
    return f"| {' | '.join(names)} |\n|{'|'.join(rule)}|\n"


def _rows(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _weights() -> dict[str, str]:
    files = weights.digests(weights.base_folder())
    return {name: value for name, value in files.items() if name not in material.TOLD}
