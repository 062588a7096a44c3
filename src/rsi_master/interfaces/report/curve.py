"""The best score on dev so far over device time, with its interval: a drawing and its table."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rsi_master.app.reader import Record
from rsi_master.core.experiment import BASE, AttemptEnded, EvaluationRecorded
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeFailed, ProbeRecorded
from rsi_master.core.run import ClaimFailed, ClaimScored
from rsi_master.core.score import Scored
from rsi_master.expos.lineage import selectable
from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import Cite, Figure, Row, Section, Table, paragraph
from rsi_master.interfaces.report.element import Element, element
from rsi_master.interfaces.report.subject import Subject

WIDTH, HEIGHT = 760.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 24.0, 32.0, 48.0
DOT: Final = 4.0
CLOSE: Final = 18.0
TICKS: Final = 6
GRID: Final = 10
END: Final = {"text_anchor": "end"}
READING = (
    "Scores on dev, the questions by which the search went: the leader's is too good by that, and "
    "only the holdout tells the result. Device time is all that was used up to then: by trainings, "
    "evaluations, probes, jobs that made data and the claim, also by those that failed. The line "
    "is the best accepted score, its band the 95 % interval of that score; the dashed line is the "
    "base. Filled dots, numbered as in the table, took the lead, empty ones did not, crosses were "
    "not accepted."
)


@dataclass(frozen=True)
class Mark:
    """A score on dev at the device seconds used up to then; `best` is the best one so far."""

    position: int
    experiment: str
    seconds: float
    score: Scored
    accepted: bool
    best: Scored | None
    leads: bool


@dataclass(frozen=True)
class Scale:
    """From device seconds and shares to pixels."""

    seconds: float
    low: float
    high: float

    def x(self, seconds: float) -> float:
        """The place across."""
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / self.seconds

    def y(self, share: float) -> float:
        """The place down; a share beyond the ends of the scale is put there."""
        within = min(self.high, max(self.low, share))
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.high - within) / (self.high - self.low)


def curve(subject: Subject) -> Section:
    """The section."""
    found = marks(subject.record)
    title = "Best on dev so far"
    if not found:
        return Section(title, "curve", (paragraph("Nothing has a score on dev yet."),))
    table = Table(
        "Every score on dev in order.",
        ("number", "device time", "experiment", "dev", "best so far", "record"),
        tuple(_row(subject, number, mark) for number, mark in enumerate(found, 1)),
    )
    used = subject.record.state.books.spent.device_seconds
    return Section(title, "curve", (Figure(drawing(found, used), READING), table))


def marks(record: Record) -> tuple[Mark, ...]:
    """Every score on dev in order. What counts as accepted is judged by the whole record, so a
    later flag takes back a lead."""
    used, best = 0.0, None
    found = []
    for event in record.events:
        fact = event.fact
        if isinstance(fact, AttemptEnded | ProbeRecorded | ProbeFailed | MakingEnded):
            used += fact.seconds
        elif isinstance(fact, ClaimScored | ClaimFailed):
            used += fact.spent.device_seconds
        elif isinstance(fact, EvaluationRecorded):
            dev = next((s.average for s in fact.scores if s.split == "dev"), None)
            if isinstance(dev, Scored):
                accepted = _accepted(record, fact.experiment)
                leads = accepted and (best is None or dev.value > best.value)
                best = dev if leads else best
                found.append(
                    Mark(event.position, fact.experiment, used, dev, accepted, best, leads)
                )
    return tuple(found)


def drawing(found: Sequence[Mark], used: float) -> Element:
    """The curve as SVG; `used` is where the last best score still holds."""
    end = max(used, *(mark.seconds for mark in found)) or 1.0
    shares = [share for mark in found for share in (mark.score.low, mark.score.high)]
    low, high = math.floor(min(shares) * GRID) / GRID, math.ceil(max(shares) * GRID) / GRID
    scale = Scale(end, low, high if high > low else low + 1 / GRID)
    return element(
        "svg",
        element("title", "Best score on dev over device time"),
        element("desc", f"{words.count(len(found), 'score')} over {words.seconds(end)}"),
        *_grid(scale),
        *_best(found, scale),
        *_base(found, scale),
        *_marks(found, scale),
        role="img",
        width=WIDTH,
        height=HEIGHT,
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
    )


def ticks(end: float) -> list[float]:
    """Round steps of 1, 2 or 5 from 0 to the end, at most six of them beside 0."""
    rough = end / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= rough * (1 - 1e-9))
    return [step * at for at in range(int(end / step + 1e-9) + 1)]


def _accepted(record: Record, name: str) -> bool:
    experiment = record.state.experiments[name]
    return name == BASE or selectable(record.state, experiment)


def _grid(scale: Scale) -> Iterator[Element]:
    for tenth in range(round(scale.low * GRID), round(scale.high * GRID) + 1):
        y = scale.y(tenth / GRID)
        yield element("line", class_="grid", x1=LEFT, y1=y, x2=WIDTH - RIGHT, y2=y)
        label = f"{100 * tenth // GRID} %"
        yield element("text", label, class_="small", x=LEFT - 8, y=y + 4, **END)
    for seconds in ticks(scale.seconds):
        x, y = scale.x(seconds), HEIGHT - BOTTOM
        yield element("line", class_="axis", x1=x, y1=y, x2=x, y2=y + 5)
        label = f"{seconds:g}"
        yield element("text", label, class_="small", x=x, y=y + 18, text_anchor="middle")
    yield element("text", "score on dev", class_="small", x=8, y=TOP - 16)
    middle = (LEFT + WIDTH - RIGHT) / 2
    label = "device seconds used by then"
    yield element("text", label, class_="small", x=middle, y=HEIGHT - 8, text_anchor="middle")


def _best(found: Sequence[Mark], scale: Scale) -> Iterator[Element]:
    """Band and line of the best score, each lead holding until the next."""
    leads = [mark for mark in found if mark.leads]
    ends = [*(scale.x(mark.seconds) for mark in leads[1:]), scale.x(scale.seconds)]
    for mark, end in zip(leads, ends, strict=True):
        x, top, low = scale.x(mark.seconds), scale.y(mark.score.high), scale.y(mark.score.low)
        yield element("rect", class_="band", x=x, y=top, width=end - x, height=low - top)
    steps = [
        f"H{scale.x(later.seconds):g}V{scale.y(later.score.value):g}"
        for _, later in pairwise(leads)
    ]
    if leads:
        start = f"M{scale.x(leads[0].seconds):g} {scale.y(leads[0].score.value):g}"
        yield element("path", class_="line", d=f"{start}{''.join(steps)}H{ends[-1]:g}")


def _base(found: Sequence[Mark], scale: Scale) -> Iterator[Element]:
    for mark in found:
        if mark.experiment == BASE:
            y = scale.y(mark.score.value)
            yield element("line", class_="base", x1=LEFT, y1=y, x2=WIDTH - RIGHT, y2=y)
            yield element("text", "base", class_="small", x=WIDTH - RIGHT, y=y - 4, **END)


def _marks(found: Sequence[Mark], scale: Scale) -> Iterator[Element]:
    """Every mark; the number of a lead stands above it, or below where the last one is near."""
    last, above = -CLOSE, True
    for number, mark in enumerate(found, 1):
        if mark.leads:
            x = scale.x(mark.seconds)
            above = not above if x - last < CLOSE else True
            last = x
        yield from _mark(number, mark, scale, -8.0 if above else 16.0)


def _mark(number: int, mark: Mark, scale: Scale, down: float) -> Iterator[Element]:
    x, y = scale.x(mark.seconds), scale.y(mark.score.value)
    told = element("title", f"{words.short(mark.experiment)}: {words.score(mark.score)}")
    if not mark.accepted:
        arms = f"M{x - DOT:g} {y - DOT:g}L{x + DOT:g} {y + DOT:g}"
        cross = f"{arms}M{x - DOT:g} {y + DOT:g}L{x + DOT:g} {y - DOT:g}"
        yield element("path", told, class_="cross", d=cross)
        return
    style = "dot first" if mark.leads else "dot"
    yield element("circle", told, class_=style, cx=x, cy=y, r=DOT)
    if mark.leads:
        yield element("text", str(number), class_="small", x=x, y=y + down, text_anchor="middle")


def _row(subject: Subject, number: int, mark: Mark) -> Row:
    best = words.score(mark.best) if mark.best else "none"
    return Row(
        (
            (str(number),),
            (words.seconds(mark.seconds),),
            (subject.refs.experiment(mark.experiment), "" if mark.accepted else ", not accepted"),
            (words.score(mark.score),),
            (f"{best}, in the lead" if mark.leads else best,),
            (Cite(mark.position),),
        )
    )
