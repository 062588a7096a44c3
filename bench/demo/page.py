"""Runs the demonstration under three seeds and writes the page about them.

python -m bench.demo.page docs/demo.md
"""

import shutil
import statistics
import sys
from pathlib import Path
from typing import Final

from bench.demo import outcome
from bench.demo.outcome import Outcome
from bench.runs import carry_out, machine
from bench.runs import seconds as seconds_of

from rsi_master.app.reader import Record
from rsi_master.app.yardsticks import Unknown, yardsticks

SEEDS: Final = (0, 1, 2)
WORK: Final = Path("build/bench-demo")
"""The runs stay here, each with an installation of its own."""

PAGE = """# The demonstration, measured

Written by `make bench-demo` on {machine}: `rsi demo --seed N`, one run after the other. Times
belong to that machine and hour.

## What came out

The champion is what the run claims at its end: trained again on a fresh seed, scored once on the
holdout. The best hand-made recipe is the one of [docs/nano.md](nano.md), {best:.1f} % on a holdout
that was drawn there; the recovered gap is the champion's share of the way from the base to it. A
training is a job that took optimiser steps and left a checkpoint, a family is a kind of data with
an objective and a parametrisation.

| seed | base | champion | recovered gap | trainings | families | reviews | seconds |
|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}

Scores are per cent of the points on the holdout, averaged over seven tasks, with 95 % intervals.
Recovered on average: {mean:.2f}.

What the champions were trained by:

{lineages}

## What it prints

The run under seed {shown}, told line by line as it happens when the output is no terminal:

```
{story}
```
"""


def main(page: str) -> None:
    """Run the demonstration under each seed; write the page."""
    stories: list[str] = []
    rows: list[str] = []
    found: list[Outcome] = []
    for seed in SEEDS:
        folder = WORK / str(seed)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        told = carry_out(("demo", "--seed", str(seed)), folder.absolute())
        one, seconds = outcome.counted(told.record), seconds_of(told.record)
        best = best_by_hand(told.record)
        stories.append(told.story)
        found.append(one)
        rows.append(row(seed, one, seconds, best))
        print(rows[-1], flush=True)
    text = PAGE.format(
        machine=machine(),
        best=best,
        rows="\n".join(rows),
        mean=statistics.fmean(one.recovered(best) for one in found),
        lineages="\n".join(
            f"- seed {seed}: {one.lineage}" for seed, one in zip(SEEDS, found, strict=True)
        ),
        shown=SEEDS[0],
        story=stories[0],
    )
    Path(page).write_text(text, encoding="utf-8")


def best_by_hand(record: Record) -> float:
    """Per cent on the holdout of the best hand-made recipe that is published for the run's base and
    suite; raises SystemExit where there is none."""
    opened = record.state.opened
    found = yardsticks(opened.sealed) if opened else Unknown("the run was never opened")
    if isinstance(found, Unknown):
        raise SystemExit(f"{record.folder.path}: {found.reason}; run make bench-nano")
    return 100 * found.best.score.value


def row(seed: int, one: Outcome, seconds: float, best: float) -> str:
    """A line of the table."""
    scores = (
        f"{value:.1f} ({low:.1f} to {high:.1f})" for value, low, high in (one.base, one.champion)
    )
    counts = f"{one.trained} | {one.families} | {one.reviews} | {seconds:.0f}"
    return f"| {seed} | {' | '.join(scores)} | {one.recovered(best):.2f} | {counts} |"


if __name__ == "__main__":
    main(sys.argv[1])
