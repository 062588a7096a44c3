"""Actions on the data pool: list, inspect, add, derive."""

import random
from typing import Annotated, Self

from pydantic import Field, model_validator

from rsi_master.core.action import Action, Role
from rsi_master.core.artifact import AnyRow, Digest, RowKind
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.errors import Misuse
from rsi_master.core.model import Value
from rsi_master.core.sealed import Bucket, ScanReport
from rsi_master.core.sealed_wire import FRAME_LIMIT
from rsi_master.domains.data.pool import parse, register
from rsi_master.expos.catalogue import Desk, Entry, Outcome, Question, Rule, Whole

EVERYBODY = (Role.MAIN, Role.WORKER, Role.REVIEWER, Role.OPERATOR)


class List(Action):
    """List the sources that the contract names and the datasets that exist."""

    name = "data.list"
    effect = "read"


class Inspect(Action):
    """Show rows of a dataset, exactly as the trainer reads them."""

    name = "data.inspect"
    effect = "read"

    dataset: Digest
    start: Annotated[int, Field(ge=0)] = 0
    count: Annotated[int, Field(ge=1, le=20)] = 5


class Add(Action):
    """Take a source of the contract into the pool: its rows are scanned and get an id. What kind
    of rows it holds is known only then."""

    name = "data.add"
    effect = "record"

    source: Annotated[str, Field(min_length=1, max_length=100)]


class Derive(Action):
    """Make a dataset from others of one kind of rows: mix them in a fixed shuffle and keep at most
    `limit` rows. Equal rows are kept once; with `repeats`, a number for each dataset, every row
    stands in the mixture as often as that says, equal ones side by side."""

    name = "data.derive"
    effect = "record"

    datasets: Annotated[tuple[Digest, ...], Field(min_length=1, max_length=8)]
    repeats: Annotated[tuple[Annotated[int, Field(ge=1, le=8)], ...], Field(max_length=8)] = ()
    limit: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    shuffle: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0

    @model_validator(mode="after")
    def _one_number_for_each(self) -> Self:
        if self.repeats and len(self.repeats) != len(self.datasets):
            given, wanted = len(self.repeats), len(self.datasets)
            raise ValueError(f"{given} repeats for {wanted} datasets; give one for each, or none")
        return self


class DatasetView(Value):
    """A dataset as every role sees it; how much the scan dropped is one coarse word.

    It holds rows with a completion, prompts alone, or preference pairs; of a pair,
    `mean_completion_chars` counts both answers. `answers_of` is the experiment whose checkpoint
    wrote its answers, if one did.
    """

    id: Digest
    origin: str
    parents: tuple[Digest, ...]
    answers_of: str | None = None
    holds: RowKind
    rows: int
    dropped: Bucket
    mean_prompt_chars: float
    mean_completion_chars: float


class PoolView(Value):
    """Sources not yet and already taken, and the datasets."""

    sources: tuple[str, ...]
    datasets: tuple[DatasetView, ...]


class RowsView(Value):
    """A window of rows."""

    dataset: Digest
    holds: RowKind
    total: int
    start: int
    rows: tuple[AnyRow, ...]


class RefusedView(Value):
    """Nothing was registered."""

    refused: str
    dropped: Bucket


class OperatorDatasetView(DatasetView):
    """The operator also sees the exact counts."""

    offered: int
    dropped_exactly: dict[str, int]


def describe(fact: DatasetRegistered) -> DatasetView:
    """The view of one dataset."""
    return DatasetView(
        id=fact.artifact.digest,
        origin=fact.source.origin,
        parents=fact.source.parents,
        answers_of=fact.source.sampled.experiment if fact.source.sampled else None,
        holds=fact.holds,
        rows=fact.rows,
        dropped=_bucket(fact),
        mean_prompt_chars=round(fact.prompt_chars / fact.rows, 1),
        mean_completion_chars=round(fact.completion_chars / fact.rows, 1),
    )


def _bucket(fact: DatasetRegistered | DatasetRefused) -> Bucket:
    kept = fact.rows if isinstance(fact, DatasetRegistered) else 0
    return ScanReport(kept=tuple(range(kept)), dropped=fact.dropped).bucket()


def _list(_action: List, desk: Desk) -> Outcome:
    return Outcome(
        PoolView(
            sources=desk.contract.policy.sources,
            datasets=tuple(describe(fact) for fact in desk.state.datasets.values()),
        )
    )


def _inspect(action: Inspect, desk: Desk) -> Outcome:
    fact = known(desk, action.dataset)
    rows = parse(desk.objects.get_bytes(action.dataset), action.start, action.count)
    return Outcome(
        RowsView(
            dataset=action.dataset, holds=fact.holds, total=fact.rows, start=action.start, rows=rows
        )
    )


def _take(action: Add, desk: Desk) -> DatasetRegistered | DatasetRefused:
    rows = desk.sealed.pool(action.source)
    source = Source(origin=action.source)
    return register(rows, source, desk.caller.node, desk.sealed, desk.objects)


def _mix(action: Derive, desk: Desk) -> DatasetRegistered | DatasetRefused:
    parents = [known(desk, dataset) for dataset in action.datasets]
    rows = _repeated(action, [desk.objects.get_bytes(dataset) for dataset in action.datasets])
    random.Random(action.shuffle).shuffle(rows)
    origins = {part for parent in parents for part in parent.source.origin.split("+")}
    operation: dict[str, object] = {"limit": action.limit, "shuffle": action.shuffle}
    if action.repeats:
        operation["repeats"] = list(action.repeats)
    source = Source(origin="+".join(sorted(origins)), parents=action.datasets, operation=operation)
    return register(
        rows[: action.limit],
        source,
        desk.caller.node,
        desk.sealed,
        desk.objects,
        "copies" if action.repeats else "once",
    )


def _repeated(action: Derive, blobs: list[bytes]) -> list[AnyRow]:
    """The rows of all datasets, each as often as asked; raises Misuse for more than one scan
    takes."""
    times = action.repeats or (1,) * len(blobs)
    size = sum(len(blob) * number for blob, number in zip(blobs, times, strict=True))
    if size > FRAME_LIMIT:
        raise Misuse(
            "TOO_LARGE",
            f"a mixture of {size:,} bytes, and a dataset has at most {FRAME_LIMIT:,}; "
            "repeat less or filter the datasets first",
        )
    return [row for blob, number in zip(blobs, times, strict=True) for row in parse(blob) * number]


def _record(_action: Add | Derive, desk: Desk) -> Outcome:
    """Reading, scanning and storing happened before, without the lock."""
    return Outcome(desk.prepared, (desk.prepared,))


def known(desk: Desk, dataset: str) -> DatasetRegistered:
    """The dataset of an id; raises Misuse when the pool has none."""
    fact = desk.state.datasets.get(dataset)
    if fact is None:
        raise Misuse("UNKNOWN_DATASET", f"dataset {dataset[:19]} is not in the pool; see data.list")
    return fact


def registered(
    record: DatasetRegistered | DatasetRefused, _contract: Contract
) -> DatasetView | RefusedView:
    """The view of what became of rows, for who offered them."""
    if isinstance(record, DatasetRefused):
        why = "no row survived the scan" if record.offered else "no row meets the conditions"
        return RefusedView(refused=why, dropped=_bucket(record))
    return describe(record)


def registered_exactly(
    record: DatasetRegistered | DatasetRefused, contract: Contract
) -> OperatorDatasetView | RefusedView:
    """The view of it for the operator."""
    view = registered(record, contract)
    if isinstance(view, RefusedView):
        return view
    return OperatorDatasetView(
        **view.model_dump(), offered=record.offered, dropped_exactly=record.dropped
    )


def _only_named(question: Question) -> str | None:
    named = question.contract.policy.sources
    if question.action.source in named:
        return None
    return f"source {question.action.source!r} is not in the contract; it names {', '.join(named)}"


def _once(question: Question) -> str | None:
    for fact in question.state.datasets.values():
        if fact.source.origin == question.action.source and not fact.source.parents:
            return f"source {question.action.source} is in the pool already; see data.list"
    return None


def _alike(question: Question) -> str | None:
    """Datasets that the pool lacks are the handler's to name."""
    known = question.state.datasets
    found = [known[dataset] for dataset in question.action.datasets if dataset in known]
    for fact in found[1:]:
        if fact.holds != found[0].holds:
            one, other = (f"{f.artifact.digest[:19]} holds {f.holds}" for f in (found[0], fact))
            return f"dataset {one} and dataset {other}; only equal kinds are mixed"
    return None


def capped(question: Question) -> str | None:
    """The contract bounds the data submissions of a run."""
    cap = question.contract.policy.submissions
    if question.state.submissions < cap:
        return None
    return f"the contract allows {cap} data submissions and all are used"


WRITERS = {
    Role.MAIN: registered,
    Role.WORKER: registered,
    Role.OPERATOR: registered_exactly,
}

ENTRIES = (
    Entry(List, _list, dict.fromkeys(EVERYBODY, Whole(PoolView))),
    Entry(Inspect, _inspect, dict.fromkeys(EVERYBODY, Whole(RowsView))),
    Entry(Add, _record, WRITERS, prepare=_take),
    Entry(Derive, _record, WRITERS, prepare=_mix),
)
RULES = (
    Rule("source", Add, _only_named),
    Rule("taken", Add, _once),
    Rule("submissions", Add, capped),
    Rule("kinds", Derive, _alike),
    Rule("submissions", Derive, capped),
)
