"""From outputs to scores: every item counts, an error is 0 points and stays in n."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import get_args

from rsi_master.core.score import ItemVerdict, NotScored, Scored, Split, SplitScore, Verdict
from rsi_master.programs.sealed.benchmark import Benchmark, Grade, Item, Model
from rsi_master.stats.intervals import Estimate, average_of_tasks, mean_interval

_ERROR = Grade(verdict="error", extracted=None, points=0.0)
_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


def answer(
    benchmark: Benchmark, model: Model, items: Sequence[Item], between: Callable[[], None]
) -> tuple[ItemVerdict, ...]:
    """Generate and grade in batches of similar length; `between` is called before each batch.

    Verdicts are in the order of `items`. A batch that fails to generate is an error of its items.
    """
    size = benchmark.decoding.batch_size
    order = sorted(items, key=lambda item: (len(item.prompt), item.id))
    verdicts: dict[str, ItemVerdict] = {}
    for start in range(0, len(order), size):
        between()
        batch = order[start : start + size]
        outputs = _outputs(model, [item.prompt for item in batch])
        for item, output in zip(batch, outputs, strict=True):
            verdicts[item.id] = _verdict(benchmark, item, output)
    return tuple(verdicts[item.id] for item in items)


def summarise(split: Split, verdicts: Sequence[ItemVerdict]) -> SplitScore:
    """Each task's mean with interval, their unweighted average, and the counts of verdicts."""
    tasks: dict[str, Estimate] = {}
    for task in sorted({verdict.task for verdict in verdicts}):
        points = [verdict.points for verdict in verdicts if verdict.task == task]
        tasks[task] = mean_interval(points)
    counts = Counter(verdict.verdict for verdict in verdicts)
    return SplitScore(
        split=split,
        average=_scored(average_of_tasks(list(tasks.values()))),
        tasks={task: _scored(estimate) for task, estimate in tasks.items()},
        counts={verdict: counts[verdict] for verdict in _VERDICTS},
    )


def unscored(split: Split, tasks: Sequence[str], reason: str) -> SplitScore:
    """No number for the split and each task, and why."""
    none = NotScored(reason=reason)
    return SplitScore(split=split, average=none, tasks=dict.fromkeys(tasks, none), counts={})


def _outputs(model: Model, prompts: Sequence[str]) -> Sequence[str | None]:
    try:
        return model.complete(prompts)
    except (RuntimeError, ValueError, MemoryError) as error:
        # A failure of the device or of one prompt: recorded as the verdict of each of its items.
        os.write(2, f"generation of {len(prompts)} outputs: {type(error).__name__}\n".encode())
        return [None] * len(prompts)


def _verdict(benchmark: Benchmark, item: Item, output: str | None) -> ItemVerdict:
    grade = _ERROR
    if output is not None:
        try:
            grade = benchmark.grade(item, output)
        except Exception as error:  # noqa: BLE001 - foreign graders end here, as a verdict
            os.write(2, f"grading {item.id}: {type(error).__name__}\n".encode())
    return ItemVerdict(
        item=item.id,
        task=item.task,
        output=output or "",
        extracted=grade.extracted,
        verdict=grade.verdict,
        points=grade.points,
    )


def _scored(estimate: Estimate) -> Scored:
    return Scored(value=estimate.mean, low=estimate.low, high=estimate.high, n=estimate.n)
