"""Evidence: per-item verdicts read back from the record, and their paired comparison."""

from collections.abc import Mapping

from pydantic import ValidationError

from rsi_master.core.errors import Finding, Misuse
from rsi_master.core.experiment import Experiment
from rsi_master.core.model import Value
from rsi_master.core.ports import ObjectStore
from rsi_master.core.score import ItemVerdict, Split
from rsi_master.stats.paired import paired_difference


class Comparison(Value):
    """Right minus left on the same items: mean of the tasks' differences with its 95 % interval,
    the two-sided p-value of no difference, and how many of the `n` items differ.

    Items that hang together count as `effective` ones that stand alone.
    """

    left: str
    right: str
    split: Split
    difference: float
    low: float
    high: float
    p: float
    n: int
    discordant: int
    effective: float
    tasks: dict[str, float]

    def verdict(self, level: float = 0.05) -> str:
        """Whether "right is better than left" is supported, refuted or inconclusive."""
        if self.p > level:
            return "inconclusive"
        return "supported" if self.difference > 0 else "refuted"


def items(objects: ObjectStore, experiment: Experiment, split: Split) -> tuple[ItemVerdict, ...]:
    """The recorded verdicts of an experiment on a split; raises Misuse when it has none."""
    evaluation = experiment.evaluation
    if evaluation is None or split not in evaluation.outputs:
        raise Misuse("NOT_EVALUATED", f"experiment {experiment.id} has no verdicts on {split}")
    data = objects.get_bytes(evaluation.outputs[split].digest)
    try:
        return tuple(ItemVerdict.model_validate_json(line) for line in data.splitlines())
    except ValidationError as cause:
        raise Finding("OUTPUTS_UNREADABLE", f"verdicts of {experiment.id} on {split}") from cause


def compare(objects: ObjectStore, left: Experiment, right: Experiment, split: Split) -> Comparison:
    """Pair two evaluations by item id. Both must have been made on the same items."""
    ours = {verdict.item: verdict for verdict in items(objects, left, split)}
    theirs = {verdict.item: verdict for verdict in items(objects, right, split)}
    if _drawn(ours) != _drawn(theirs):
        raise Misuse(
            "ITEMS_DIFFER", f"{left.id} and {right.id} were scored on different items of {split}"
        )
    order = sorted(ours)
    strata = [ours[item].task for item in order]
    before = [ours[item].points for item in order]
    after = [theirs[item].points for item in order]
    clusters = [ours[item].drawn_with() for item in order]
    result = paired_difference(before, after, strata, clusters)
    return Comparison(
        left=left.id,
        right=right.id,
        split=split,
        difference=result.mean,
        low=result.low,
        high=result.high,
        p=result.p,
        n=result.n,
        discordant=result.discordant,
        effective=result.effective,
        tasks={
            task: _mean([a - b for a, b, t in zip(after, before, strata, strict=True) if t == task])
            for task in sorted(set(strata))
        },
    )


def _drawn(verdicts: Mapping[str, ItemVerdict]) -> dict[str, tuple[str, str]]:
    """The task of each item, and what it was drawn with."""
    return {item: (found.task, found.drawn_with()) for item, found in verdicts.items()}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
