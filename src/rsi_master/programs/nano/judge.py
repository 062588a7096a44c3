"""Judge a rebuilt base by its scores: `python -m rsi_master.programs.nano.judge FOLDER`.

Exit code 0 when the average lies in the published interval, 1 when it does not. Processor types
differ in the last bits of a pre-training, so digests of a rebuild prove nothing.
"""

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, Self

from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.generator.graders import grade
from rsi_master.programs.nano.generator.suite import draw
from rsi_master.programs.nano.weights import base_folder
from rsi_master.programs.sealed.nano import NANO
from rsi_master.programs.sealed.vault import read_base

SCORES: Final = "scores.json"
ITEMS: Final = 120
"""Items of a task, all of the split `practice`."""
MARGIN: Final = 0.08
"""Half of the interval: an estimate, since the bases so far scored 20 to 25 per cent."""
_SEED: Final = b"nano judge 1"


@dataclass(frozen=True, slots=True)
class Scores:
    """Mean points in 0..1 of each task, and their unweighted average."""

    tasks: Mapping[Task, float]

    @property
    def average(self) -> float:
        """The mean over tasks."""
        return fmean(self.tasks.values())


@dataclass(frozen=True, slots=True)
class Interval:
    """The published interval of the average."""

    low: float
    high: float

    @classmethod
    def published(cls, folder: Path) -> Self:
        """Read `scores.json` of a base folder."""
        found = json.loads((folder / SCORES).read_text(encoding="utf-8"))
        return cls(low=found["low"], high=found["high"])


def scores(folder: Path) -> Scores:
    """Return the scores of the base in `folder` on a fixed open sample."""
    model = NANO.model(read_base(folder))
    items = draw(_SEED, {"practice": ITEMS})["practice"]
    found: dict[Task, list[float]] = {task: [] for task in TASKS}
    size = NANO.decoding.batch_size
    for start in range(0, len(items), size):
        batch = items[start : start + size]
        outputs = model.complete([item.prompt for item in batch])
        for item, output in zip(batch, outputs, strict=True):
            found[item.task].append(grade(item, output).points)
    return Scores({task: fmean(points) for task, points in found.items()})


def publish(folder: Path, found: Scores) -> None:
    """Write `scores.json` beside the weights, with the interval for rebuilds."""
    told = {
        "average": round(found.average, 4),
        "low": round(found.average - MARGIN, 4),
        "high": round(found.average + MARGIN, 4),
        "tasks": {task: round(score, 4) for task, score in found.tasks.items()},
    }
    (folder / SCORES).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    """Parse the command line, score, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the rebuilt base")
    parser.add_argument(
        "--published", type=Path, default=base_folder(), help="base folder with scores.json"
    )
    parser.add_argument("--publish", action="store_true", help="write scores.json into the folder")
    asked = parser.parse_args()
    found = scores(asked.folder)
    if asked.publish:
        publish(asked.folder, found)
    wanted = Interval.published(asked.folder if asked.publish else asked.published)
    for task, score in found.tasks.items():
        print(f"{task:8} {100 * score:5.1f} %")
    inside = wanted.low <= found.average <= wanted.high
    verdict = "inside" if inside else "OUTSIDE"
    print(
        f"average  {100 * found.average:5.1f} %, {verdict} the published "
        f"{100 * wanted.low:.1f} to {100 * wanted.high:.1f} %"
    )
    raise SystemExit(0 if inside else 1)


if __name__ == "__main__":
    main()
