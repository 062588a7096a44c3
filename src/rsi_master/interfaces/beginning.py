"""`rsi init`: a contract to start from is written, and what its splits can show is told."""

from dataclasses import dataclass
from pathlib import Path

from rsi_master.app import contracts, questions
from rsi_master.app.home import Home
from rsi_master.app.questions import Questions
from rsi_master.core.errors import Misuse
from rsi_master.interfaces import words
from rsi_master.interfaces.resolution import ASSUMED, resolution


@dataclass(frozen=True)
class Wanted:
    """The contract that was asked for; `benchmark` is a file of own questions."""

    name: str
    profile: str
    benchmark: Path | None


def write(path: Path, wanted: Wanted, home: Home) -> str:
    """Write the contract to a new file; what to tell. Raises Misuse where the file exists or the
    questions cannot be used."""
    _absent(path)
    told = ""
    if wanted.benchmark is None:
        text = contracts.fresh(wanted.name, wanted.profile)
    else:
        most = dict(contracts.known(wanted.profile).most)
        found = questions.look(wanted.benchmark, wanted.profile, most, home)
        text, told = contracts.own(wanted.name, wanted.profile, found), _told(found) + "\n"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _absent(path)
    except OSError as cause:
        raise Misuse("UNWRITABLE", f"{path} cannot be written: {cause.strerror}") from cause
    name = words.shown(path)
    return f"{told}wrote {name}; edit it, then: {words.program()} run {name}"


def _absent(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise Misuse("EXISTS", f"{path} exists and is not overwritten; name another --out")


def _told(found: Questions) -> str:
    """What the file holds and what each split can show."""
    number = sum(found.found.questions.values())
    tasks = words.count(len(found.found.questions), "task")
    splits = ", ".join(f"{split} {count:,}" for split, count in found.sizes.items())
    return (
        f"{words.count(found.found.rows, 'row')}, {words.count(number, 'different question')}, "
        f"{tasks}; sealed at the start of a run: {splits}; {found.left:,} to train on\n"
        f"a paired comparison shows {resolution(found.sizes)}\n({ASSUMED})"
    )
