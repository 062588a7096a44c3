"""The sheet of a recorded thing by its kind; that of experiments, Workers and reviews."""

from collections.abc import Callable, Mapping

from rsi_master.app.reader import Record
from rsi_master.core.experiment import Experiment, ExperimentQueued
from rsi_master.core.graph import Node, ReviewRequested, WorkerCreated
from rsi_master.core.lineage import teachers
from rsi_master.interfaces import singles, stored, words
from rsi_master.interfaces.lookup import Kind, Thing
from rsi_master.interfaces.sheet import Found, Rows, Sheet, dump, scores


def sheet(record: Record, thing: Thing) -> Sheet:
    """All that the record says of the thing."""
    rows, facts = _KINDS[thing.kind](record, thing.id)
    return Sheet(thing, rows, facts)


def _experiment(record: Record, name: str) -> Found:
    experiment = record.state.experiments[name]
    integrity = experiment.integrity + (f" ({experiment.flag})" if experiment.flag else "")
    rows: Rows = [
        ("state", experiment.lifecycle),
        ("integrity", integrity),
        ("owner", experiment.worker()),
        *_submission(record, name),
        ("training", words.training(record.state, experiment)),
    ]
    if experiment.queued:
        rows += [
            ("seed", f"{experiment.queued.seed}, to {experiment.queued.purpose}"),
            ("family", experiment.queued.family),
            ("recipe id", experiment.queued.effective),
        ]
        wrote = teachers(record.state, name)
        if wrote:
            rows.append(("learnt from", f"answers of {words.listed(map(words.short, wrote))}"))
    rows += _attempts(experiment) + _proof(experiment)
    if experiment.evaluation:
        for one in experiment.evaluation.scores:
            rows += scores(one)
    if experiment.ended and experiment.lifecycle != "finished":
        rows.append(("end", f"{experiment.ended.reason} {experiment.ended.detail}".strip()))
    facts = {
        "lifecycle": experiment.lifecycle,
        "integrity": experiment.integrity,
        "flag": experiment.flag,
        "queued": dump(experiment.queued),
        "attempts": [
            {"planned": dump(a.planned), "ended": dump(a.ended), "fenced": a.fenced}
            for a in experiment.attempts
        ],
        "checkpoint": dump(experiment.checkpoint),
        "evaluation": dump(experiment.evaluation),
        "ended": dump(experiment.ended),
    }
    return rows, facts


def _submission(record: Record, name: str) -> Rows:
    """Who submitted it: a playbook, an agent or a person."""
    return [
        ("submitted", f"by {stored.by(event)}, event @{event.position}")
        for event in record.events
        if isinstance(event.fact, ExperimentQueued) and event.fact.experiment == name
    ]


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
        ("weights", proof.weights),
        ("checkpoint", experiment.checkpoint.artifact.digest),
    ]


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
    again = words.listed(words.short(name) for name in report.recommend)
    return [*rows, ("train again", again), ("advice", report.recommendation)], _node(node)


def _node(node: Node) -> Mapping[str, object]:
    return {
        "created": dump(node.created),
        "finalised": dump(node.finalised),
        "report": dump(node.report),
        "closed": dump(node.closed),
    }


_KINDS: dict[Kind, Callable[[Record, str], Found]] = {
    "experiment": _experiment,
    "dataset": stored.dataset,
    "worker": _worker,
    "review": _review,
    "artifact": stored.artifact,
    "event": stored.event,
    "main": singles.main,
    "claim": singles.claim,
    "contract": singles.contract,
}
