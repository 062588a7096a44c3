"""The claim beside figures that are published for its benchmark: where it lies between the base and
the best recipe made by hand. They were measured elsewhere, and the report says so."""

from dataclasses import dataclass

from rsi_master.app.yardsticks import Measured, Unknown, Yardstick, Yardsticks
from rsi_master.core.run import ClaimScored
from rsi_master.core.score import ClaimResult, Scored
from rsi_master.interfaces import words
from rsi_master.interfaces.report.document import Block, Line, Row, Table, cut, paragraph
from rsi_master.interfaces.report.subject import Subject

NORMAL = 1.96
CAPTION = (
    "What is published for this base and this version of the suite. It was not measured in this "
    "run, but on draws of its own, so it tells where the claim lies and compares nothing on the "
    "same items. Its intervals are 1.96 standard errors over items and seeds."
)
RECOVERED = (
    "the difference that was claimed, divided by that from this run's base to the best made by "
    "hand. Its interval is that of the claim; the published score is taken as exact."
)
HEAD = ("what", "how", "score", "where", "items", "the base there", "record")


@dataclass(frozen=True)
class Gap:
    """The share of the way from the base to the best recipe made by hand that the claimed one goes,
    with the ends that the interval of the difference gives."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        low, high = 100 * self.low, 100 * self.high
        return f"{words.percent(self.value)} ({low:.1f} to {high:.1f})"


def recovered(result: ClaimResult, best: Measured) -> Gap | None:
    """(claimed - base) / (best - base), the published score taken as exact; None where the claim
    has no difference, or the base leaves no gap to it."""
    base, difference = result.base.average, result.difference
    if difference is None or not isinstance(base, Scored) or best.value <= base.value:
        return None
    gap = best.value - base.value
    return Gap(difference.mean / gap, difference.low / gap, difference.high / gap)


def beside(subject: Subject) -> tuple[Block, ...]:
    """The published figures, and how much of the gap to them was closed."""
    known = subject.yardsticks
    if isinstance(known, Unknown):
        return ()
    few = _row("few-shot base", known.few_shot, known)
    best = _row("best made by hand", known.best, known)
    table = Table(CAPTION, HEAD, (few, best))
    gap = _gap(subject, known)
    if gap is None:
        return (table,)
    cite = subject.refs.event(ClaimScored)
    return (table, paragraph(f"Recovered gap: {gap}, {RECOVERED} ", *cite))


def compared(subject: Subject) -> Line:
    """One sentence for the verdict."""
    known = subject.yardsticks
    if isinstance(known, Unknown):
        return (
            "The base is all that the claim is held against: of the base with examples in its "
            f"prompt and of a recipe made by hand, {cut(known.reason)}.",
        )
    told = (
        f"Published, not measured in this run: {known.few_shot.what} reaches "
        f"{words.percent(known.few_shot.score.value)}, the best recipe made by hand "
        f"{words.percent(known.best.score.value)}. "
    )
    gap = _gap(subject, known)
    return (told, f"Of the gap from the base to the latter {gap} is recovered.") if gap else (told,)


def _gap(subject: Subject, known: Yardsticks) -> Gap | None:
    claimed = subject.record.state.claimed
    if not isinstance(claimed, ClaimScored):
        return None
    return recovered(claimed.result, known.best.score)


def _row(label: str, one: Yardstick, known: Yardsticks) -> Row:
    seeds = words.count(one.seeds, "seed")
    return Row(
        (
            (label,),
            (cut(one.what),),
            (_interval(one.score),),
            (f"{one.split}, another draw",),
            (f"{known.items:,} a task, {seeds}",),
            (_interval(one.base),),
            (f"published in {cut(known.page)}",),
        )
    )


def _interval(found: Measured) -> str:
    half = NORMAL * found.error
    low, high = max(0.0, found.value - half), min(1.0, found.value + half)
    return f"{words.percent(found.value)} ({100 * low:.1f} to {100 * high:.1f})"
