"""Judge a rebuilt base by its scores: `python -m rsi_master.programs.nano.judge FOLDER`.

Exit code 0 when the shape is the published one, and the average and each task lie in the published
intervals; 1 names what does not, 2 a folder that cannot be judged. Processor types differ in the
last bits of a pre-training, so digests of a rebuild prove nothing.
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, Self

from rsi_master.core.errors import RsiError
from rsi_master.programs.nano import weights
from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.generator.graders import grade
from rsi_master.programs.nano.generator.suite import draw
from rsi_master.programs.sealed.nano import NANO
from rsi_master.programs.sealed.vault import read_base

SCORES: Final = "scores.json"
ITEMS: Final = 120
"""Items of a task, all of the split `practice`."""
MARGIN: Final = 0.05
"""Half of the interval of the average. The same seed gave the same bits; another 0.6 off."""
TASK_MARGIN: Final = 0.35
"""Half of the interval of each task. Another seed: care 29 points above, write 18 below."""
LOWEST: Final = 0.10
HIGHEST: Final = 0.30
"""What a base must score, whatever its margin."""
SHAPE: Final = (
    *("model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"),
    *("num_attention_heads", "num_key_value_heads", "head_dim"),
    *("max_position_embeddings", "tie_word_embeddings"),
)
"""The fields of `config.json` in which a rebuild may not differ."""
_SEED: Final = b"nano judge 1"
_ROW: Final = re.compile(r"^\|(?: [0-9.]+ \|){8}$", re.MULTILINE)


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
    """Scores that are taken, both ends among them."""

    low: float
    high: float

    def __contains__(self, score: float) -> bool:
        return self.low <= score <= self.high

    def __str__(self) -> str:
        return f"{100 * self.low:.1f} to {100 * self.high:.1f} %"


@dataclass(frozen=True, slots=True)
class Published:
    """What a rebuild is held against."""

    shape: Mapping[str, object]
    average: Interval
    tasks: Mapping[Task, Interval]

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read `config.json` and `scores.json` of a base folder."""
        told = json.loads((folder / SCORES).read_text(encoding="utf-8"))
        margin = told["task_margin"]
        tasks: dict[Task, Interval] = {
            task: Interval(told["tasks"][task] - margin, told["tasks"][task] + margin)
            for task in TASKS
        }
        return cls(shape(folder), Interval(told["low"], told["high"]), tasks)

    def outside(self, shape: Mapping[str, object], found: Scores) -> Iterator[str]:
        """Yield, in words, what of a base is not as published."""
        for field, wanted in self.shape.items():
            if shape[field] != wanted:
                yield f"{field} is {shape[field]}, published is {wanted}"
        for name, score, wanted in (
            *((task, found.tasks[task], self.tasks[task]) for task in TASKS),
            ("average", found.average, self.average),
        ):
            if score not in wanted:
                yield f"{name} is {100 * score:.1f} %, published is {wanted}"


def shape(folder: Path) -> Mapping[str, object]:
    """Return the fields of `SHAPE` from the configuration of a base."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return {field: config.get(field) for field in SHAPE}


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
    """Write `scores.json` with the margins for rebuilds, and have card and digests agree with it.

    Raises ValueError for a folder without a model card, or scores that are not those of a base.
    """
    card = folder / weights.CARD
    if not card.exists():
        raise ValueError(f"{card} is missing; write one after that of {weights.base_folder()}")
    required = Interval(LOWEST, HIGHEST)
    if found.average not in required:
        raise ValueError(f"the average is {100 * found.average:.1f} %, a base has {required}")
    told = {
        "average": round(found.average, 4),
        "low": round(max(LOWEST, found.average - MARGIN), 4),
        "high": round(min(HIGHEST, found.average + MARGIN), 4),
        "task_margin": TASK_MARGIN,
        "tasks": {task: round(score, 4) for task, score in found.tasks.items()},
    }
    (folder / SCORES).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    card.write_text(_ROW.sub(row(found), card.read_text(encoding="utf-8")), encoding="utf-8")
    weights.record(folder)


def row(found: Scores) -> str:
    """Return the scores as the line of a model card, in per cent."""
    cells = [f"{100 * found.tasks[task]:.0f}" for task in TASKS]
    return f"| {' | '.join((*cells, f'{100 * found.average:.1f}'))} |"


def main() -> None:
    """Parse the command line, score, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the rebuilt base")
    parser.add_argument(
        "--published", type=Path, default=weights.base_folder(), help="base folder to compare with"
    )
    parser.add_argument(
        "--publish", action="store_true", help="write scores, card and digests of the folder anew"
    )
    asked = parser.parse_args()
    try:
        outside = list(_judged(asked.folder, asked.published, asked.publish))
    except (OSError, ValueError, LookupError, TypeError, RsiError) as cause:
        told = " ".join(str(cause).split())
        parser.error(f"{asked.folder} cannot be judged: {told}; name the folder of a base")
    for finding in outside:
        print(f"OUTSIDE: {finding}")
    raise SystemExit(1 if outside else 0)


def _judged(folder: Path, published: Path, publishing: bool) -> Iterator[str]:
    """Score, print, publish if asked, and yield what is not as published."""
    shape(folder)
    found = scores(folder)
    for task, score in found.tasks.items():
        print(f"{task:8} {100 * score:5.1f} %")
    print(f"average  {100 * found.average:5.1f} %")
    if publishing:
        publish(folder, found)
    wanted = Published.of(folder if publishing else published)
    yield from wanted.outside(shape(folder), found)


if __name__ == "__main__":
    main()
