"""Runs the demonstration and its benches in one go, and writes the page about them.

python bench/page.py docs/demo.md
"""

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import overhead
import warm

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import read

PAGE = """# The demonstration, measured

Written by `make bench` on {machine}. Times belong to that machine and hour; the ratios are
what to keep.

## What it prints

`rsi demo`, told line by line as it happens when the output is no terminal:

```
{story}
```

## What the Experiment OS costs

The same trainings as a bare TRL script (`bench/bare.py`), in the same session: as many lanes side
by side as the run had Workers, each a process that imports the training stack once, trains the
Worker's recipes in their order, and answers as many prompts after each as one evaluation has items.
The run's wall time goes from its opening to its end and includes planning, scanning, the ledger,
confinement, scoring the base, the review and the claim.

| | seconds |
|---|--:|
| run of {experiments} trainings under the Experiment OS | {run_wall_seconds} |
| the same as bare scripts | {bare_wall_seconds} |
| ratio | {ratio} |
| the trainings and their evaluations in the run, summed | {run_device_seconds} |
| in the bare scripts, after their imports, summed | {bare_device_seconds} |
| ratio | {device_ratio} |

The first ratio may lie below 1, since each lane imports the training stack anew, where the run
forks from a warm parent; the second has imports on neither side, but TRL's preparation of the data
and its saving on the bare side. Why else the bare side may be slower was not looked into.

The bare script tokenises in TRL, pads to the same lengths and saves its model; it records nothing,
confines nothing and scores neither base nor holdout.

## Warm and cold starts

Seconds from submission to the first logged training step under the tier `{tier}`: the first job of
an engine, which imports the stack, and the median of five that were forked from the warm parent
(`python bench/warm.py`).

| cold | warm | ratio |
|--:|--:|--:|
| {cold_seconds} | {warm_seconds} | {ratio_of_starts} |
"""


def main(page: str) -> None:
    """Run everything; write the page."""
    with tempfile.TemporaryDirectory() as folder:
        story, run = demonstrate(Path(folder))
        cost = overhead.measure(read(RunFolder(run)))
    start = warm.measure()
    text = PAGE.format(
        machine=f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        story=story,
        ratio_of_starts=start.pop("ratio"),
        **cost,
        **start,
    )
    Path(page).write_text(text, encoding="utf-8")
    print(text)


def demonstrate(folder: Path) -> tuple[str, Path]:
    """Run the demonstration with an installation of its own; what it printed, and where it is."""
    runs = folder / "runs"
    done = subprocess.run(
        [sys.executable, "-m", "rsi_master", "demo", "--runs", str(runs)],
        env={**os.environ, "RSI_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=True,
    )
    run = next(runs.iterdir())
    return done.stdout.replace(str(runs), "runs").strip("\n"), run


if __name__ == "__main__":
    main(sys.argv[1])
