"""Writes `docs/actions.md` from the catalogue: `python -m rsi_master.interfaces.actions_page`."""

from collections.abc import Iterator, Sequence
from typing import Final

from rsi_master.core.action import Effect, Role
from rsi_master.expos.catalogue import Catalogue, Entry
from rsi_master.interfaces import terminal
from rsi_master.interfaces.act import installed
from rsi_master.interfaces.fields import Field, form
from rsi_master.interfaces.published import GROUPS

EFFECTS: Final[dict[Effect, str]] = {
    "read": "changes nothing",
    "record": "adds to the record",
    "work": "starts long work and returns a handle",
    "control": "steers the run",
}
ROLES = (Role.MAIN, Role.WORKER, Role.REVIEWER, Role.OPERATOR)
HEAD = """\
# Actions

Everything that agents and people can ask of a run. This page is generated from the catalogue:
`python -m rsi_master.interfaces.actions_page > docs/actions.md`.

On the command line: `rsi act ACTION FIELD=VALUE …`, or `--json '{…}'` for all fields at once. The
token in `RSI_TOKEN` says who asks, `--as-operator` that whoever started the run does; an action
that a role has no view of is denied, and the attempt is recorded. What was done and came to
nothing, as a program that fails its tests, says so under `failed`, with exit code 1. An action
that changes anything is recorded before it is carried out and after; what agents read is recorded
too. A configuration is a closed schema: an unknown field or a value out of its range is refused.

For example a program that keeps short answers, in a run whose contract has `policy.programs` above
0 (the default permits none), and a dataset made by it; `data.list` names the datasets:

    rsi act program.add --as-operator --run RUN - <<'END'
    {"kind": "transform", "title": "short",
     "source": "def transform(row):\\n    return row if len(row['completion']) < 40 else None\\n",
     "tests": [{"row": {"prompt": "a", "completion": "b"},
                "made": [{"prompt": "a", "completion": "b"}]}]}
    END
    rsi act data.transform --as-operator --run RUN dataset=DATASET program=PROGRAM
"""
MAP_HEAD = """\
## The published tools

The 31 core tools of the published system by name, and where their functions are here. The 22
discovery tools are not in this version: sources are named in the contract.

| tool | here |
|---|---|
"""


def page(found: Catalogue) -> str:
    """The whole page."""
    return "\n".join([HEAD, *_overview(found), *_domains(found), MAP_HEAD + _map()])


def _overview(found: Catalogue) -> Iterator[str]:
    yield "| action | effect | " + " | ".join(role.value for role in ROLES) + " |"
    yield "|---|---|" + ":-:|" * len(ROLES)
    for entry in found:
        name = entry.action.name
        marks = " | ".join("yes" if role in entry.views else "" for role in ROLES)
        anchor = name.replace(".", "")
        yield f"| [`{name}`](#{anchor}) | {entry.action.effect} | {marks} |"
    yield ""
    yield "Effects: " + "; ".join(f"*{name}* {text}" for name, text in EFFECTS.items()) + "."
    yield ""


def _domains(found: Catalogue) -> Iterator[str]:
    for domain in found.domains:
        yield f"## {domain.name.capitalize()}\n"
        for entry in domain.entries:
            yield from _entry(entry, found)


def _entry(entry: Entry, found: Catalogue) -> Iterator[str]:
    action = entry.action
    yield f"### {action.name}\n"
    yield " ".join((action.__doc__ or "").split()) + "\n"
    roles = ", ".join(role.value for role in ROLES if role in entry.views)
    yield f"Effect: {action.effect}. Roles: {roles}."
    rules = [rule.name for rule in found.rules if rule.action is action]
    if rules:
        yield f"Rules that may deny it: {', '.join(dict.fromkeys(rules))}."
    yield ""
    asked = form(action)
    yield from _table(asked.fields)
    for name, fields in asked.parts.items():
        yield f"`{name}`:\n"
        yield from _table(fields)


def _table(fields: Sequence[Field]) -> Iterator[str]:
    if not fields:
        yield "No fields.\n"
        return
    yield "| field | type | default |"
    yield "|---|---|---|"
    for field in fields:
        kind = field.type.replace("|", "\\|")
        yield f"| `{field.name}` | {kind} | {field.default or '*required*'} |"
    yield ""


def _map() -> str:
    rows = [(tool, place) for tools in GROUPS.values() for tool, place in tools.items()]
    return "\n".join(f"| `{tool}` | {place} |" for tool, place in rows)


if __name__ == "__main__":
    terminal.tell(page(installed()))
