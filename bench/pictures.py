"""The pictures of the README from the record of a run: the terminal at a moment of it, and the two
figures of its report.

python -m bench.pictures [RUN] [--out FOLDER] [--at SECONDS]
"""

import argparse
import io
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console, ConsoleDimensions
from rich.text import Text

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app.reader import Record, read
from rsi_master.core.errors import Misuse, RsiError
from rsi_master.core.experiment import AttemptEnded, AttemptPlanned, Experiment
from rsi_master.core.state import State
from rsi_master.interfaces import runs
from rsi_master.interfaces.board import Board
from rsi_master.interfaces.narrate import Line, narrate
from rsi_master.interfaces.progress import hanging
from rsi_master.interfaces.pulse import Beat, last, planned
from rsi_master.interfaces.report import curve, graph
from rsi_master.interfaces.report.style import CSS

DOCS: Final = Path(__file__).parents[1] / "docs"
SCREEN: Final = ConsoleDimensions(104, 28)
STORY: Final = 4
FETCHED: Final = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
PAD: Final = 24.0
HEAD: Final = 40.0


@dataclass(frozen=True)
class Training:
    """An attempt to train, from when to when in seconds since the epoch."""

    experiment: str
    start: float
    end: float

    def share(self, now: float) -> float:
        """How much of its time is over, in 0..1."""
        return min(1.0, max(0.0, (now - self.start) / max(self.end - self.start, 1e-9)))


@dataclass(frozen=True)
class Recorded:
    """The beats of trainings at a moment of the past. Recorded metrics carry no time, so a training
    is taken to have gone at an even pace."""

    record: Record
    trainings: tuple[Training, ...]

    def beat(self, experiment: Experiment, now: float) -> Beat | None:
        """See `Gauge`."""
        stored = self.record.state.experiments[experiment.id].checkpoint
        running = [
            one
            for one in self.trainings
            if one.experiment == experiment.id and one.start <= now < one.end
        ]
        if not running or stored is None:
            return None
        objects = FolderObjects(self.record.folder.objects)
        lines = objects.get_bytes(stored.metrics.digest).splitlines()
        done = round(running[-1].share(now) * len(lines))
        return last(lines[:done], planned(experiment))


def trainings(record: Record) -> tuple[Training, ...]:
    """All attempts to train that came to an end, in that order."""
    starts: dict[str, float] = {}
    found: list[Training] = []
    for event in record.events:
        fact = event.fact
        if isinstance(fact, AttemptPlanned):
            starts[fact.job] = event.at
        elif isinstance(fact, AttemptEnded) and fact.stage == "train":
            found.append(Training(fact.experiment, starts[fact.job], event.at))
    return tuple(found)


def moment(found: Sequence[Training]) -> float:
    """The last middle of a training at which most trainings run; raises Misuse without any."""
    if not found:
        raise Misuse("NO_TRAINING", "the run has trained nothing yet; name one that has")
    middles = [(one.start + one.end) / 2 for one in found]
    return max(middles, key=lambda at: (sum(o.start <= at < o.end for o in found), at))


def terminal(record: Record, now: float) -> str:
    """What the terminal showed then, as SVG that fetches nothing."""
    state, story = _told(record, now)
    console = Console(
        file=io.StringIO(), record=True, width=SCREEN.width, force_terminal=True, highlight=False
    )
    name = record.folder.path.name
    gauge = Recorded(record, trainings(record))
    command = "rsi demo" if record.contract.name == "demo" else "rsi run CONTRACT"
    console.print(Text(f"$ {command}", "dim"))
    for line in story[-STORY:]:
        console.print(hanging(line))
    console.print()
    console.print(Board(name, record.contract, state, now, gauge).render(SCREEN))
    drawn = console.export_svg(
        title=f"{command}, after {state.wall(now):.0f} s", unique_id="terminal"
    )
    return FETCHED.sub("", drawn)


def figures(record: Record) -> str:
    """The research graph of the report above its curve, as one SVG in the style of the page."""
    used = record.state.books.spent.device_seconds
    parts = (
        ("Research graph", graph.drawing(record.state)),
        ("Best on dev so far", curve.drawing(curve.marks(record), used)),
    )
    top, drawn = PAD, []
    sizes = [_size(str(drawing)) for _, drawing in parts]
    width = max(wide for wide, _ in sizes) + 2 * PAD
    for (title, drawing), (_, high) in zip(parts, sizes, strict=True):
        drawn.append(f'<text class="name" x="{PAD:g}" y="{top + PAD / 2:g}">{title}</text>')
        drawn.append(f'<g transform="translate({PAD:g} {top + HEAD:g})">{drawing}</g>')
        top += HEAD + high + PAD
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{top:g}" '
            f'viewBox="0 0 {width:g} {top:g}">',
            f"<style>{CSS}</style>",
            '<rect width="100%" height="100%" style="fill: var(--page)"/>',
            *drawn,
            "</svg>\n",
        )
    )


def _told(record: Record, now: float) -> tuple[State, list[Line]]:
    """The state at a moment, and the story up to then."""
    state = State.under(record.contract)
    return state, list(_lines(record, state, now))


def _lines(record: Record, state: State, now: float) -> Iterator[Line]:
    for event in record.events:
        if event.at > now:
            return
        state.apply(event)
        line = narrate(event, state)
        if line is not None:
            yield line


def _size(drawing: str) -> tuple[float, float]:
    """Width and height that an SVG names first."""
    width, height = re.findall(r' (?:width|height)="([\d.]+)"', drawing)[:2]
    return float(width), float(height)


def main() -> int:
    """Write the pictures; an error is one line and its exit code."""
    parser = argparse.ArgumentParser(description="Pictures of a run for the README.")
    parser.add_argument("run", nargs="?", help="a run folder or a part of its id, else the newest")
    parser.add_argument("--out", type=Path, default=DOCS, help="where terminal.svg, report.svg go")
    parser.add_argument("--at", type=float, help="seconds of the run that the terminal shows")
    asked = parser.parse_args()
    try:
        record = read(runs.find(asked.run or None))
        now = moment(trainings(record)) if asked.at is None else record.events[0].at + asked.at
        pictures = {"terminal.svg": terminal(record, now), "report.svg": figures(record)}
    except RsiError as problem:
        print(f"bench: {problem.code}: {problem.message}", file=sys.stderr)
        return problem.exit_code
    for name, text in pictures.items():
        (asked.out / name).write_text(text, encoding="utf-8")
        print(f"wrote {asked.out / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
