"""`rsi act`: any action of the catalogue, typed, from the command line."""

import difflib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from rsi_master.app.catalog import catalogue
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.plugins import recipes
from rsi_master.app.reader import read
from rsi_master.core.action import Role
from rsi_master.core.errors import Misuse
from rsi_master.expos.catalogue import Catalogue
from rsi_master.interfaces import client, words
from rsi_master.interfaces.failures import BROKEN
from rsi_master.interfaces.fields import Field, form

DEFAULT_RECIPES = ("sft", "dpo", "grpo", "rejection")
# An id in the short form of the screen, as a whole JSON text.
_SHORT = re.compile(r'"[0-9a-f]{8}"')


@dataclass(frozen=True)
class Words:
    """What was given on the command line: `FIELD=VALUE` words, a JSON text, or `-` for stdin."""

    fields: Sequence[str]
    json: str | None

    def arguments(self, stdin: TextIO, texts: frozenset[str]) -> Mapping[str, object]:
        """The arguments of the action; raises Misuse for words that are none. Values of `texts`
        are taken as they stand."""
        if list(self.fields) == ["-"]:
            return _object(stdin.read(), "standard input")
        if self.json is not None:
            if self.fields:
                raise Misuse("BAD_ARGUMENT", "give FIELD=VALUE words or --json, not both")
            return _object(self.json, "--json")
        return dict(_pair(word, texts) for word in self.fields)


def submit(
    folder: RunFolder, home: Home, action: str, arguments: Mapping[str, object], person: bool
) -> dict[str, object]:
    """Submit under the token of `$RSI_TOKEN`, or the operator's own for a person who says so. Ids
    may be given as they are shown, by their short form."""
    token = os.environ.get("RSI_TOKEN")
    if person:
        token = client.operator_token(folder, home)
    if not token:
        raise Misuse(
            "NO_TOKEN",
            "set RSI_TOKEN to a token from `rsi token`, or pass --as-operator if the run is yours",
        )
    answer = client.submit(folder, home, token, action, _whole(arguments, folder))
    told = answer.get("message")
    return {**answer, "message": words.pasteable(told)} if isinstance(told, str) else answer


def exit_code(answer: Mapping[str, object]) -> int:
    """0 for what was done, 1 for what was done and came to nothing, as a program that failed its
    tests, else that of the failure."""
    if answer["ok"]:
        value = answer.get("answer")
        return int(isinstance(value, Mapping) and "failed" in value)
    code = answer.get("exit")
    return code if isinstance(code, int) else BROKEN


def known(action: str) -> None:
    """Raise Misuse for a name that no action has, with the nearest one."""
    names = [entry.action.name for entry in installed()]
    if action not in names:
        close = difflib.get_close_matches(action, names, n=1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise Misuse("UNKNOWN_ACTION", f"no action {action!r}; {hint}`rsi act --list` lists all")


def names(role: Role | None) -> str:
    """The actions of a role, or all, with what each does."""
    found = installed()
    chosen = [e for e in found if role is None or role in e.views]
    width = max((len(entry.action.name) for entry in chosen), default=0)
    return "\n".join(f"{e.action.name:<{width}}  {_first(e.action.__doc__)}" for e in chosen)


def usage(role: Role | None) -> str:
    """How `rsi act` is used, and the actions."""
    return "\n".join(
        [
            "rsi act ACTION [FIELD=VALUE ... | --json '{...}' | -]",
            "",
            "The VALUE of a text field is text, others are JSON. The token: $RSI_TOKEN,",
            "or with --as-operator from whoever started the run; the run from $RSI_RUN or --run.",
            "`rsi act ACTION --help` explains the fields, `--list --role ROLE` lists by role.",
            "",
            names(role),
        ]
    )


def explain(action: str) -> str:
    """The fields of an action."""
    entry = installed().entry(action)
    asked = form(entry.action)
    roles = ", ".join(role.value for role in entry.views)
    text = " ".join((entry.action.__doc__ or "").split())
    lines = [f"rsi act {action}", "", text, f"Open to: {roles}", "", "Fields:"]
    lines += _lines(asked.fields) or ["  none"]
    for name, fields in asked.parts.items():
        lines += ["", f"{name}:", *_lines(fields)]
    return "\n".join(lines)


def installed() -> Catalogue:
    """The catalogue over the recipes that the package brings."""
    return catalogue(recipes(DEFAULT_RECIPES))


def texts(action: str) -> frozenset[str]:
    """Fields of the action that are text and nothing else; none for an unknown action."""
    try:
        schema = installed().entry(action).action.model_json_schema()
    except Misuse:
        return frozenset()
    properties = schema.get("properties", {})
    return frozenset(name for name, part in properties.items() if part.get("type") == "string")


def _whole(arguments: Mapping[str, object], folder: RunFolder) -> Mapping[str, object]:
    """The arguments with short ids of experiments and datasets made whole."""
    if not _SHORT.search(json.dumps(arguments)):
        return arguments
    state = read(folder).state
    ids: dict[str, list[str]] = {}
    for name in (*state.experiments, *state.datasets):
        ids.setdefault(words.short(name), []).append(name)
    return {key: _lengthened(value, ids) for key, value in arguments.items()}


def _lengthened(value: object, ids: Mapping[str, Sequence[str]]) -> object:
    if isinstance(value, dict):
        return {key: _lengthened(inner, ids) for key, inner in value.items()}
    if isinstance(value, list):
        return [_lengthened(inner, ids) for inner in value]
    named = ids.get(value, ()) if isinstance(value, str) else ()
    return named[0] if len(named) == 1 else value


def _pair(word: str, texts: frozenset[str]) -> tuple[str, object]:
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise Misuse("BAD_ARGUMENT", f"{word!r} is not FIELD=VALUE; see `rsi act ACTION --help`")
    if name in texts:
        return name, value
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _object(text: str, origin: str) -> Mapping[str, object]:
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise Misuse("BAD_ARGUMENT", f"{origin} is not JSON: {cause}") from cause
    if not isinstance(raw, dict):
        raise Misuse("BAD_ARGUMENT", f"{origin} is not a JSON object of fields")
    return raw


def _lines(fields: Sequence[Field]) -> list[str]:
    width = max((len(field.name) for field in fields), default=0)
    return [
        f"  {field.name:<{width}}  {field.type}"
        + (" (required)" if field.default is None else f" (default {field.default})")
        for field in fields
    ]


def _first(text: str | None) -> str:
    return " ".join((text or "").split()).partition(". ")[0].rstrip(".")
