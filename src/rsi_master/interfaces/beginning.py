"""`rsi init`: a contract to start from is written, and what its splits can show is told."""

from dataclasses import dataclass
from pathlib import Path

from rsi_master.app import contracts, questions
from rsi_master.app.home import Home
from rsi_master.app.questions import Questions
from rsi_master.interfaces import files, words
from rsi_master.interfaces.resolution import ASSUMED, blind, resolution


@dataclass(frozen=True)
class Wanted:
    """The contract that was asked for; `benchmark` is a file of own questions."""

    name: str
    profile: str
    benchmark: Path | None


def write(path: Path, wanted: Wanted, home: Home) -> str:
    """Write the contract to a new file; what to tell. Raises Misuse where the file exists or the
    questions cannot be used, Broken where the disk fails: nothing is written then."""
    files.absent(path)
    told = ""
    if wanted.benchmark is None:
        text = contracts.fresh(wanted.name, wanted.profile)
    else:
        most = dict(contracts.known(wanted.profile).most)
        found = questions.look(wanted.benchmark, wanted.profile, most, home)
        text, told = contracts.own(wanted.name, wanted.profile, found), _told(found) + "\n"
    files.write_new(path, text)
    name = words.shown(path)
    return f"{told}wrote {name}; edit it, then: {words.program()} run {name}"


def _told(found: Questions) -> str:
    """What the file holds and what each split can show."""
    number = sum(found.found.questions.values())
    tasks = words.count(len(found.found.questions), "task")
    splits = ", ".join(f"{split} {count:,}" for split, count in found.sizes.items())
    few = "\nTOO FEW: a claim on so small a holdout shows nothing; take some hundred questions"
    return (
        f"{words.count(found.found.rows, 'row')}, {words.count(number, 'different question')}, "
        f"{tasks}; sealed at the start of a run: {splits}; {found.left:,} to train on\n"
        f"a paired comparison shows {resolution(found.sizes)}\n({ASSUMED})"
        f"{few if blind(found.sizes) else ''}"
    )
