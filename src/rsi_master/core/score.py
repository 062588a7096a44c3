"""Scores: a value with interval and n, or not-scored with a reason. Never a bare number.

A score is a share in 0..1. Items that errored stay in n with the verdict `error`.
"""

from typing import Annotated, Literal

from pydantic import Field

from rsi_master.core.model import Value

Split = Literal["dev", "confirm", "holdout", "twin"]
Drawn = Literal["dev", "confirm", "holdout", "twin", "practice"]
"""What is drawn at sealing: the splits, and open questions of practice, which score nothing."""
Verdict = Literal["right", "wrong", "no_answer", "error"]
Feedback = Literal["exact", "rounded"]


class Scored(Value):
    """A share of points over n items with its 95 % interval."""

    kind: Literal["scored"] = "scored"
    value: Annotated[float, Field(ge=0, le=1)]
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]
    n: Annotated[int, Field(ge=1)]


class NotScored(Value):
    """No number, and why."""

    kind: Literal["not_scored"] = "not_scored"
    reason: str


Score = Annotated[Scored | NotScored, Field(discriminator="kind")]


class ItemVerdict(Value):
    """What the evaluator saw on one item; ids are stable within a sealed set and say nothing.

    Items of a task with one `cluster` hang together; one without stands alone.
    """

    item: str
    task: str
    output: str
    extracted: str | None
    verdict: Verdict
    points: Annotated[float, Field(ge=0, le=1)]
    cluster: str | None = None

    def drawn_with(self) -> str:
        """What was drawn as one: the cluster, else the item."""
        return self.cluster or self.item


class SplitScore(Value):
    """Aggregates of one split: the unweighted mean over tasks, and each task."""

    split: Split
    average: Score
    tasks: dict[str, Score]
    counts: dict[Verdict, int]


class EvaluationResult(Value):
    """One evaluation by the sealed process; `items` only for splits that a Reviewer may see.

    `weights` is the digest of the tensors that were scored, or of the file when it is not readable.
    """

    scores: tuple[SplitScore, ...]
    items: dict[Split, tuple[ItemVerdict, ...]]
    weights: str
    protocol: str
    seconds: float
    batch_size: int = 1


class PairedDifference(Value):
    """Second minus first on the same items: unweighted mean over tasks, 95 % interval, exact p.

    `discordant` counts the items on which the two differ, out of `n`.
    """

    mean: Annotated[float, Field(ge=-1, le=1)]
    low: Annotated[float, Field(ge=-1, le=1)]
    high: Annotated[float, Field(ge=-1, le=1)]
    p: Annotated[float, Field(ge=0, le=1)]
    n: Annotated[int, Field(ge=1)]
    discordant: Annotated[int, Field(ge=0)]


class ClaimResult(Value):
    """One opening of the holdout: champion and base on the same items, and their difference.

    `difference` is None when one of the two is not scored.
    """

    champion: SplitScore
    base: SplitScore
    difference: PairedDifference | None
    weights: str
    protocol: str
    seconds: float


def present(score: SplitScore, feedback: Feedback, step: float) -> SplitScore:
    """The score in the form that the contract lets out: exact, or on a grid of `step`.

    Rounded feedback hides the count of verdicts and widens intervals to the grid.
    """
    if feedback == "exact":
        return score
    return SplitScore(
        split=score.split,
        average=_rounded(score.average, step),
        tasks={task: _rounded(inner, step) for task, inner in score.tasks.items()},
        counts={},
    )


def _rounded(score: Score, step: float) -> Score:
    if isinstance(score, NotScored):
        return score
    return Scored(
        value=_clip(round(score.value / step) * step),
        low=_clip(score.low // step * step),
        high=_clip(-(-score.high // step) * step),
        n=score.n,
    )


def _clip(value: float) -> float:
    return min(1.0, max(0.0, round(value, 6)))
