"""Judge a rebuilt base by its scores: `python -m rsi_master.programs.nano.judge FOLDER`.

Exit code 0 when the shape is the published one, and the average and each task lie in the published
intervals; 1 names what does not, 2 a folder that cannot be judged, with the file that is to blame.
Processor types differ in the last bits of a pre-training, so digests of a rebuild prove nothing.
"""

import argparse
import json
import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, NoReturn, Self

from tokenizers import Tokenizer

from rsi_master.core.sealed_wire import CHECKPOINT_FILE
from rsi_master.programs.nano import weights
from rsi_master.programs.nano.format import TASKS, Task
from rsi_master.programs.nano.generator.graders import grade
from rsi_master.programs.nano.generator.suite import draw
from rsi_master.programs.sealed.benchmark import Base
from rsi_master.programs.sealed.nano import NANO
from rsi_master.programs.sealed.vault import read_base

SCORES: Final = "scores.json"
CONFIG: Final = "config.json"
TOKENIZER: Final = "tokenizer.json"
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
_TOLD_CHARACTERS: Final = 200
_SEED: Final = b"nano judge 1"
_ROW: Final = re.compile(r"^\|(?: [0-9.]+ \|){8}$", re.MULTILINE)


class Unfit(ValueError):
    """A folder that holds no base, or none that can be published; the message names the file."""


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

    @classmethod
    def around(cls, score: float, margin: float) -> Self:
        """The interval about a score, within what a score can be."""
        return cls(max(0.0, score - margin), min(1.0, score + margin))

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
        """Read `config.json` and `scores.json` of a base folder; raises Unfit."""
        with _blamed(folder / SCORES):
            told = json.loads((folder / SCORES).read_text(encoding="utf-8"))
            margin = float(told["task_margin"])
            tasks: dict[Task, Interval] = {
                task: Interval.around(float(told["tasks"][task]), margin) for task in TASKS
            }
            average = Interval(float(told["low"]), float(told["high"]))
        return cls(shape(folder), average, tasks)

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
    """Return the fields of `SHAPE` from the configuration of a base; raises Unfit."""
    with _blamed(folder / CONFIG):
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if not isinstance(config, dict):
            raise TypeError(f"a {type(config).__name__} where an object is needed")
    return {field: config.get(field) for field in SHAPE}


def scores(folder: Path) -> Scores:
    """Return the scores of the base in `folder` on a fixed open sample; raises Unfit."""
    shape(folder)
    with _blamed(folder / TOKENIZER):
        Tokenizer.from_file(str(folder / TOKENIZER))
    with _blamed(folder / CHECKPOINT_FILE):
        base = read_base(folder)
    items = draw(_SEED, {"practice": ITEMS})["practice"]
    found: dict[Task, list[float]] = {task: [] for task in TASKS}
    with _blamed(folder / CONFIG, " does not fit weights and tokenizer"):
        outputs = _outputs(base, [item.prompt for item in items])
    for item, output in zip(items, outputs, strict=True):
        found[item.task].append(grade(item, output).points)
    return Scores({task: fmean(points) for task, points in found.items()})


def _outputs(base: Base, prompts: list[str]) -> list[str]:
    model, size = NANO.model(base), NANO.decoding.batch_size
    batches = (prompts[start : start + size] for start in range(0, len(prompts), size))
    return [output for batch in batches for output in model.complete(batch)]


@contextmanager
def _blamed(file: Path, how: str = "") -> Iterator[None]:
    """Turn whatever the libraries raise over a file into Unfit that names it.

    Some of them raise bare `Exception`: there is no shorter list to catch.
    """
    try:
        yield
    except Exception as cause:
        why = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        why = " ".join(why.split()) or type(cause).__name__
        raise Unfit(f"{file}{how}: {why[:_TOLD_CHARACTERS]}") from cause


def publish(folder: Path, found: Scores) -> None:
    """Write `scores.json` with the margins for rebuilds, and have card and digests agree with it.

    All is written beside first. Raises Unfit for a folder that is not `publishable`, or scores
    that are not those of a base.
    """
    publishable(folder)
    required = Interval(LOWEST, HIGHEST)
    if found.average not in required:
        raise Unfit(f"the average is {100 * found.average:.1f} %, a base has {required}")
    told = {
        "average": round(found.average, 4),
        "low": round(max(LOWEST, found.average - MARGIN), 4),
        "high": round(min(HIGHEST, found.average + MARGIN), 4),
        "task_margin": TASK_MARGIN,
        "tasks": {task: round(score, 4) for task, score in found.tasks.items()},
    }
    with tempfile.TemporaryDirectory(dir=folder.absolute().parent, prefix=".judge-") as beside:
        draft = Path(shutil.copytree(folder, Path(beside) / "base"))
        (draft / SCORES).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        card = draft / weights.CARD
        card.write_text(_ROW.sub(row(found), card.read_text(encoding="utf-8")), encoding="utf-8")
        weights.record(draft)
        _in_card(card, row(found), *weights.digests(draft).values())
        for name in (SCORES, weights.CARD, weights.DIGESTS):
            (draft / name).replace(folder / name)


def publishable(folder: Path) -> None:
    """Raise Unfit for a folder without a model card, or with anything but files in it."""
    card = folder / weights.CARD
    if not card.is_file():
        raise Unfit(f"{card} is missing; write one after that of {weights.base_folder()}")
    with _blamed(card):
        card.read_text(encoding="utf-8")
    for entry in sorted(folder.iterdir()):
        if not entry.is_file():
            raise Unfit(f"{entry} is no file, and a base has files alone")


def _in_card(card: Path, scores: str, *digests: str) -> None:
    """Raise Unfit where the card has no place for the scores, or for the digest of any file."""
    told = card.read_text(encoding="utf-8")
    if scores not in told or not any(digest in told for digest in digests):
        raise Unfit(
            f"the model card lacks the table of scores or that of digests; write {card.name} after "
            f"that of {weights.base_folder()}"
        )


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
        wanted = None if asked.publish else Published.of(asked.published)
    except Unfit as cause:
        _refuse(f"--published {asked.published} cannot be compared with: {cause}")
    try:
        with _quiet():
            outside = _judged(asked.folder, wanted)
    except (OSError, Unfit) as cause:
        _refuse(f"{asked.folder} cannot be judged: {cause}; name the folder of a base")
    for finding in outside:
        print(f"OUTSIDE: {finding}")
    raise SystemExit(1 if outside else 0)


@contextmanager
def _quiet() -> Iterator[None]:
    """Libraries warn of a configuration that the judge refuses in a line of its own."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


def _refuse(told: str) -> NoReturn:
    print(f"judge: {' '.join(told.split())}", file=sys.stderr)
    raise SystemExit(2)


def _judged(folder: Path, wanted: Published | None) -> list[str]:
    """Score and print, publish where nothing is wanted, and return what is not as published."""
    if wanted is None:
        publishable(folder)
    found = scores(folder)
    for task, score in found.tasks.items():
        print(f"{task:8} {100 * score:5.1f} %")
    print(f"average  {100 * found.average:5.1f} %")
    if wanted is None:
        publish(folder, found)
        wanted = Published.of(folder)
    return list(wanted.outside(shape(folder), found))


if __name__ == "__main__":
    main()
