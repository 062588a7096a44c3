"""A person's own questions: the file looked at, its place remembered, the splits sized."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rsi_master.adapters.sealed.sealing import survey
from rsi_master.app import bases
from rsi_master.app.home import Home
from rsi_master.core.score import Split
from rsi_master.core.sealed_wire import Survey

# Two fifths are left to train on. Of the rest the holdout gets most, since it decides.
SHARES: Final[dict[Split, float]] = {"dev": 0.15, "confirm": 0.2, "holdout": 0.25}


@dataclass(frozen=True)
class Questions:
    """What a file holds for the base of digest `base`, and how many questions of each task go to
    each split."""

    base: str
    found: Survey
    each: dict[Split, int]

    @property
    def sizes(self) -> dict[Split, int]:
        """Questions of each split over all tasks."""
        return {split: count * len(self.found.questions) for split, count in self.each.items()}

    @property
    def left(self) -> int:
        """Questions that no split takes."""
        return sum(self.found.questions.values()) - sum(self.sizes.values())


def look(path: Path, base: str, most: dict[Split, int], home: Home) -> Questions:
    """Read the file for a base and remember where it lies; `most` bounds each split over all tasks.

    Raises Misuse for a file that cannot be used, Refused without the base, Finding where that was
    damaged.
    """
    sound = bases.sound(base, home)
    found = survey(path, sound.folder)
    home.link_items(found.digest, path)
    return Questions(sound.digest, found, share(found, most))


def share(found: Survey, most: dict[Split, int]) -> dict[Split, int]:
    """How many questions of each task go to each split: its share of the smallest task, so that all
    tasks together stay within `most`; at least one."""
    smallest, tasks = min(found.questions.values()), len(found.questions)
    return {
        split: max(1, min(int(smallest * share), most[split] // tasks))
        for split, share in SHARES.items()
    }
