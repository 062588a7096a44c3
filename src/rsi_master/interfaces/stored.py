"""What is stored by digest, shown and taken out: datasets, artifacts, checkpoints; and events."""

import json
from functools import partial
from pathlib import Path

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app.reader import Record, recorded
from rsi_master.core.artifact import AnyRow
from rsi_master.core.errors import Misuse
from rsi_master.core.event import Event
from rsi_master.core.experiment import BASE
from rsi_master.core.facts import artifacts
from rsi_master.domains.data.pool import parse
from rsi_master.interfaces import operations, words
from rsi_master.interfaces.files import lay_new
from rsi_master.interfaces.lookup import Thing
from rsi_master.interfaces.sheet import Found, Rows, dump

ROWS = 3
ROW_CHARS = 160


def dataset(record: Record, digest: str) -> Found:
    """Where a dataset came from, what the scan left of it, its first rows."""
    fact = record.state.datasets[digest]
    source = fact.source
    rows: Rows = [
        ("source", source.origin),
        ("holds", fact.holds),
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
        rows.append(("made by", operations.told(source)))
    program = operations.program(source)
    if program is not None:
        rows.append(("program", program))
    if source.sampled:
        wrote = source.sampled
        rows.append(("answers of", f"{wrote.experiment}, weights {words.short(wrote.weights)}"))
    data = FolderObjects(record.folder.objects).get_bytes(digest)
    for number, row in enumerate(parse(data, 0, ROWS), 1):
        rows.append((f"row {number}", _clip(_told(row))))
    return rows, fact.model_dump(mode="json")


def artifact(record: Record, digest: str) -> Found:
    """Which events name an artifact, whether its bytes are true, its files."""
    naming = [(e, a) for e in record.events for a in artifacts(e) if a.digest == digest]
    found = naming[0][1]
    objects = FolderObjects(record.folder.objects)
    fault = objects.check(digest)
    positions = [event.position for event, _ in naming]
    files = {} if fault or found.files == 1 else objects.files(digest)
    rows: Rows = [
        ("kind", found.kind),
        ("size", f"{found.size:,} bytes in {words.count(found.files, 'file')}"),
        ("named by", words.listed(f"@{event.position} {event.fact.type}" for event, _ in naming)),
        ("bytes", fault or "present and true to the digest"),
        *(("file", f"{name}  {words.short(blob)}") for name, blob in files.items()),
    ]
    facts = {"artifact": dump(found), "events": positions, "fault": fault, "files": files}
    return rows, facts


def event(record: Record, name: str) -> Found:
    """One event, field by field as it was recorded: what is hashed and signed, not its reading."""
    found = next(event for event in record.events if event.id == name)
    body = json.loads(recorded(record.folder, found.position))
    rows: Rows = [
        ("position", f"@{found.position}"),
        ("type", f"{found.fact.type}, version {body['version']}"),
        ("by", by(found)),
        ("contract", found.contract),
    ]
    fields = body["fact"].items()
    rows += [(key, json.dumps(value, ensure_ascii=False)) for key, value in fields]
    return rows, {"event": body}


def by(found: Event) -> str:
    """Who caused an event: the node, its role and what fills it."""
    return f"{found.caller.node} ({found.caller.role.value}, {found.caller.actor})"


def lay_out(record: Record, thing: Thing, target: Path) -> str:
    """Lay an artifact, a dataset or the checkpoint of an experiment at `target`, every byte
    checked; the digest of what was laid. Raises Misuse when `target` exists."""
    digest = _stored(record, thing)
    objects = FolderObjects(record.folder.objects)
    lay_new(target, partial(objects.materialise, digest))
    return digest


def _stored(record: Record, thing: Thing) -> str:
    if thing.kind in ("artifact", "dataset"):
        return thing.id
    opened = record.state.opened
    if thing.id == BASE and opened is not None:
        return opened.base.digest
    experiment = record.state.experiments.get(thing.id)
    if experiment is None or experiment.checkpoint is None:
        raise Misuse(
            "NOTHING_STORED",
            f"{thing.kind} {thing.id} has no bytes to lay out; name an artifact, a dataset or an "
            "experiment with a checkpoint",
        )
    return experiment.checkpoint.artifact.digest


def _told(row: AnyRow) -> str:
    """`'prompt' -> 'completion'`, `'prompt' -> 'chosen' not 'rejected'`."""
    answers = " not ".join(repr(answer) for answer in row.answers())
    return f"{row.prompt!r} -> {answers}" if answers else repr(row.prompt)


def _clip(text: str) -> str:
    return text if len(text) <= ROW_CHARS else text[: ROW_CHARS - 1] + "…"
