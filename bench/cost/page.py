"""Runs a contract of supervised trainings, repeats them bare, and writes the page about the cost.

python -m bench.cost.page docs/cost.md
"""

import sys
import tempfile
from pathlib import Path
from string import Template

from bench.cost import overhead, warm
from bench.runs import carry_out, machine

from rsi_master.app import bases
from rsi_master.app.contracts import BASE
from rsi_master.app.home import Home

PAGE = """# What the Experiment OS costs

Written by `make bench` on {machine}. Times belong to that machine and hour; the ratios are
what to keep.

The same trainings as a bare TRL script (`bench/cost/bare.py`), in the same session: as many lanes
side by side as the run had Workers, each a process that imports the training stack once, trains the
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
(`python -m bench.cost.warm`).

| cold | warm | ratio |
|--:|--:|--:|
| {cold_seconds} | {warm_seconds} | {ratio_of_starts} |
"""


def main(page: str) -> None:
    """Run everything; write the page."""
    with tempfile.TemporaryDirectory() as folder:
        contract = Path(folder) / "cost.toml"
        contract.write_text(filled(), encoding="utf-8")
        told = carry_out(("run", str(contract)), Path(folder))
        cost = overhead.measure(told.record)
    start = warm.measure()
    text = PAGE.format(machine=machine(), ratio_of_starts=start.pop("ratio"), **cost, **start)
    Path(page).write_text(text, encoding="utf-8")
    print(text)


def filled() -> str:
    """The contract of the trainings, for the base that is installed."""
    text = Path(__file__).with_name("cost.toml").read_text(encoding="utf-8")
    digest = bases.pin(BASE, Home.default())
    return Template(text).substitute(seed="0", base=BASE, digest=digest)


if __name__ == "__main__":
    main(sys.argv[1])
