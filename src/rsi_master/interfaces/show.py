"""One recorded thing in full, as aligned lines or as JSON."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app.reader import Record
from rsi_master.core.event import Event
from rsi_master.core.experiment import Experiment
from rsi_master.core.facts import artifacts
from rsi_master.core.graph import Node, ReviewRequested, WorkerCreated
from rsi_master.core.model import Value
from rsi_master.core.score import SplitScore
from rsi_master.domains.data.pool import parse
from rsi_master.interfaces import words
from rsi_master.interfaces.lookup import Kind, Thing

ROWS = 3
ROW_CHARS = 160
Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Sheet:
    """A thing with its labelled lines for people and its facts for programs."""

    thing: Thing
    rows: Rows
    facts: Mapping[str, object]

    def text(self) -> str:
        """Aligned lines."""
        width = max((len(label) for label, _ in self.rows), default=0)
        lines = [f"{label:<{width}}  {text}".rstrip() for label, text in self.rows]
        return "\n".join([f"{self.thing.kind} {self.thing.id}", *lines])

    def json(self) -> str:
        """One JSON object."""
        whole = {"kind": self.thing.kind, "id": self.thing.id, **self.facts}
        return json.dumps(whole, ensure_ascii=False)


def sheet(record: Record, thing: Thing) -> Sheet:
    """All that the record says of the thing."""
    rows, facts = _KINDS[thing.kind](record, thing.id)
    return Sheet(thing, rows, facts)


Found = tuple[Rows, Mapping[str, object]]


def _experiment(record: Record, name: str) -> Found:
    experiment = record.state.experiments[name]
    integrity = experiment.integrity + (f" ({experiment.flag})" if experiment.flag else "")
    rows: Rows = [
        ("state", experiment.lifecycle),
        ("integrity", integrity),
        ("owner", experiment.worker()),
        ("training", words.training(record.state, experiment)),
    ]
    if experiment.queued:
        rows += [
            ("seed", f"{experiment.queued.seed}, to {experiment.queued.purpose}"),
            ("family", experiment.queued.family),
            ("recipe id", experiment.queued.effective),
        ]
    rows += _attempts(experiment) + _proof(experiment)
    if experiment.evaluation:
        for one in experiment.evaluation.scores:
            rows += _scores(one)
    if experiment.ended and experiment.lifecycle != "finished":
        rows.append(("end", f"{experiment.ended.reason} {experiment.ended.detail}".strip()))
    facts = {
        "lifecycle": experiment.lifecycle,
        "integrity": experiment.integrity,
        "flag": experiment.flag,
        "queued": _dump(experiment.queued),
        "attempts": [
            {"planned": _dump(a.planned), "ended": _dump(a.ended), "fenced": a.fenced}
            for a in experiment.attempts
        ],
        "checkpoint": _dump(experiment.checkpoint),
        "evaluation": _dump(experiment.evaluation),
        "ended": _dump(experiment.ended),
    }
    return rows, facts


def _attempts(experiment: Experiment) -> Rows:
    rows: Rows = []
    for attempt in experiment.attempts:
        planned, ended = attempt.planned, attempt.ended
        how = f"{ended.ending}, {words.seconds(ended.seconds)}" if ended else "running"
        detail = f": {ended.detail}" if ended and ended.detail else ""
        fenced = ", result came too late" if attempt.fenced else ""
        rows.append((f"{planned.stage} {planned.fence}", f"{how}{fenced}{detail}"))
    return rows


def _proof(experiment: Experiment) -> Rows:
    if experiment.checkpoint is None:
        return []
    proof = experiment.checkpoint.proof
    change = words.listed(f"{group} {norm:.3g}" for group, norm in proof.change.items())
    share = proof.supervised_tokens / max(1, proof.total_tokens)
    return [
        ("steps", f"{proof.steps}, {words.percent(share)} of {proof.total_tokens:,} tokens learnt"),
        ("change", f"norm by group of weights: {change}"),
        ("checkpoint", experiment.checkpoint.artifact.digest),
    ]


def _scores(found: SplitScore) -> Rows:
    rows = [(found.split, words.split(found))]
    return rows + [(f"  {task}", words.score(inner)) for task, inner in found.tasks.items()]


def _dataset(record: Record, digest: str) -> Found:
    fact = record.state.datasets[digest]
    source = fact.source
    rows: Rows = [
        ("source", source.origin),
        ("rows", f"{fact.rows:,} of {fact.offered:,} offered"),
        ("dropped", words.drops(fact.dropped)),
        ("added by", fact.by),
        (
            "characters",
            f"{fact.prompt_chars / fact.rows:.0f} a prompt, "
            f"{fact.completion_chars / fact.rows:.0f} a completion",
        ),
    ]
    if source.parents:
        rows.append(("made from", words.listed(source.parents)))
    data = FolderObjects(record.folder.objects).get_bytes(digest)
    for number, row in enumerate(parse(data, 0, ROWS), 1):
        rows.append((f"row {number}", _clip(f"{row.prompt!r} -> {row.completion!r}")))
    return rows, fact.model_dump(mode="json")


def _worker(record: Record, name: str) -> Found:
    node = record.state.graph.nodes[name]
    created = node.created
    assert isinstance(created, WorkerCreated), "lookup tells Workers from reviews"
    rows: Rows = [
        ("direction", created.direction),
        ("hypothesis", created.hypothesis),
        ("task", created.task),
        ("purpose", created.purpose),
        ("builds on", words.listed(created.predecessors, "the base")),
        ("data", words.origins(record.state, created.data)),
    ]
    for experiment in record.state.owned(name):
        dev = words.split(experiment.score("dev"))
        rows.append((words.short(experiment.id), f"{experiment.lifecycle}, dev {dev}"))
    if node.finalised:
        rows.append(("summary", node.finalised.summary))
    if node.closed:
        rows.append(("closed", node.closed.reason))
    return rows, _node(node)


def _review(record: Record, name: str) -> Found:
    node = record.state.graph.nodes[name]
    created, report = node.created, node.report
    assert isinstance(created, ReviewRequested), "lookup tells Workers from reviews"
    rows: Rows = [("question", created.question), ("scope", words.listed(created.scope))]
    if report is None:
        return [*rows, ("report", "none yet")], _node(node)
    rows += [(finding.verdict, finding.claim) for finding in report.findings]
    rows += [("violation", f"{found.claim} ({found.verdict})") for found in report.violations]
    rows += [("regression", line) for line in report.regressions]
    rows += [("missing", line) for line in report.missing]
    return [*rows, ("advice", report.recommendation)], _node(node)


def _artifact(record: Record, digest: str) -> Found:
    naming = [(e, a) for e in record.events for a in artifacts(e) if a.digest == digest]
    found = naming[0][1]
    fault = FolderObjects(record.folder.objects).check(digest)
    events = words.listed(f"#{event.position} {event.fact.type}" for event, _ in naming)
    rows: Rows = [
        ("kind", found.kind),
        ("size", f"{found.size:,} bytes in {words.count(found.files, 'file')}"),
        ("named by", f"event {events}"),
        ("bytes", fault or "present and true to the digest"),
    ]
    positions = [event.position for event, _ in naming]
    return rows, {"artifact": _dump(found), "events": positions, "fault": fault}


def _event(record: Record, name: str) -> Found:
    event = next(event for event in record.events if event.id == name)
    rows: Rows = [
        ("position", f"#{event.position}"),
        ("type", event.fact.type),
        ("by", f"{event.caller.node} ({event.caller.role.value}, {event.caller.actor})"),
        ("contract", event.contract),
    ]
    fields = event.fact.model_dump(mode="json")
    rows += [(key, json.dumps(value, ensure_ascii=False)) for key, value in fields.items()]
    return rows, {"event": _event_object(event)}


def _event_object(event: Event) -> object:
    """The recorded object, read back from its canonical bytes."""
    return json.loads(event.to_bytes())


def _node(node: Node) -> Mapping[str, object]:
    return {
        "created": _dump(node.created),
        "finalised": _dump(node.finalised),
        "report": _dump(node.report),
        "closed": _dump(node.closed),
    }


def _dump(value: Value | None) -> object:
    return value.model_dump(mode="json") if value is not None else None


def _clip(text: str) -> str:
    return text if len(text) <= ROW_CHARS else text[: ROW_CHARS - 1] + "…"


_KINDS: dict[Kind, Callable[[Record, str], Found]] = {
    "experiment": _experiment,
    "dataset": _dataset,
    "worker": _worker,
    "review": _review,
    "artifact": _artifact,
    "event": _event,
}
