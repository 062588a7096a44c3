"""From outputs to scores: every item counts, an error is 0 points and stays in n."""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import get_args

from rsi_master.core.errors import SealUnavailable
from rsi_master.core.score import ItemVerdict, NotScored, Scored, Split, SplitScore, Verdict
from rsi_master.programs.sealed.benchmark import Benchmark, Grade, Item, Model
from rsi_master.stats.intervals import Estimate, average_of_tasks, mean_interval

_ERROR = Grade(verdict="error", extracted=None, points=0.0)
_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


def answer(
    benchmark: Benchmark, model: Model, items: Sequence[Item], between: Callable[[], None]
) -> tuple[ItemVerdict, ...]:
    """Generate and grade in batches of similar length; `between` is called before each batch.

    Verdicts are in the order of `items`. One that the model fails on alone is an error, one that a
    grader fails on too; a model that fails on all raises SealUnavailable.
    """
    size = benchmark.decoding.batch_size
    order = sorted(items, key=lambda item: (len(item.prompt), item.id))
    verdicts: dict[str, ItemVerdict] = {}
    for start in range(0, len(order), size):
        between()
        batch = order[start : start + size]
        outputs = _outputs(model, [item.prompt for item in batch], order[0].prompt)
        for item, output in zip(batch, outputs, strict=True):
            verdicts[item.id] = _verdict(benchmark, item, output)
    return tuple(verdicts[item.id] for item in items)


def summarise(split: Split, verdicts: Sequence[ItemVerdict]) -> SplitScore:
    """Each task's mean with interval, their unweighted average, and the counts of verdicts."""
    tasks: dict[str, Estimate] = {}
    for task in sorted({verdict.task for verdict in verdicts}):
        found = [verdict for verdict in verdicts if verdict.task == task]
        clusters = [verdict.drawn_with() for verdict in found]
        tasks[task] = mean_interval([verdict.points for verdict in found], clusters)
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


def _outputs(model: Model, prompts: Sequence[str], shortest: str) -> Sequence[str | None]:
    """The outputs of a batch, one by one where it fails as a whole; None where one fails alone.

    A device that fails must not pass for wrong answers: an item counts as failed alone only while
    the model still answers another prompt, of this batch or, for a batch of one, the shortest.
    """
    outputs = _completed(model, prompts)
    if outputs is not None:
        return outputs
    others = prompts if len(prompts) > 1 else (shortest,)
    control = next((other for other in others if _completed(model, (other,))), None)
    alone: list[str | None] = []
    for prompt in prompts:
        found = _completed(model, (prompt,))
        if found is None and (control is None or not _completed(model, (control,))):
            raise SealUnavailable(
                "GENERATION_FAILED",
                f"generation of a batch of {len(prompts)} fails on the device, not on one item; "
                "see serve.log of the sealed set, then ask again",
            )
        alone.append(found[0] if found else None)
    return alone


def _completed(model: Model, prompts: Sequence[str]) -> list[str] | None:
    try:
        return model.complete(prompts)
    except (RuntimeError, ValueError, MemoryError) as error:
        os.write(2, f"generation of {len(prompts)} outputs: {type(error).__name__}\n".encode())
        return None


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
        cluster=item.cluster,
    )


def _scored(estimate: Estimate) -> Scored:
    return Scored(value=estimate.mean, low=estimate.low, high=estimate.high, n=estimate.n)
