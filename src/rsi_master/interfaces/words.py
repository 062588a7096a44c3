"""How values read: scores with their interval, times, short ids, recipes, paths and commands."""

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from rsi_master.app import plugins
from rsi_master.core.artifact import RowKind
from rsi_master.core.errors import Refused
from rsi_master.core.experiment import BASE, Experiment
from rsi_master.core.recipe import RecipeSpec
from rsi_master.core.score import NotScored, PairedDifference, Score, SplitScore
from rsi_master.core.state import State
from rsi_master.core.text import visible
from rsi_master.domains.training.merge import MERGE

SHORT = 8


def short(name: str) -> str:
    """The part of an id that tells it apart at a glance: the start of a digest, the end of a
    time-ordered id; other names stay whole."""
    if name.startswith("sha256:"):
        return name[7 : 7 + SHORT]
    return name[-SHORT:] if len(name) == 36 else name


def percent(value: float) -> str:
    """A share as per cent with one digit."""
    return f"{100 * value:.1f} %"


def score(found: Score | None) -> str:
    """`67.1 % (61.2 to 72.5)`, or why there is no number."""
    if found is None:
        return "no score yet"
    if isinstance(found, NotScored):
        return f"not scored: {found.reason}"
    return f"{percent(found.value)} ({100 * found.low:.1f} to {100 * found.high:.1f})"


def split(found: SplitScore | None) -> str:
    """The average of a split with its interval."""
    return score(found.average if found else None)


def points(difference: PairedDifference | None) -> str:
    """A paired difference in percentage points."""
    if difference is None:
        return "not known, since one of the two is not scored"
    low, high = 100 * difference.low, 100 * difference.high
    return (
        f"{100 * difference.mean:+.1f} points ({low:+.1f} to {high:+.1f}), "
        f"p = {difference.p:.2g} on {difference.n} items"
    )


def seconds(value: float) -> str:
    """`3.2 s`, `41 s`, `12 min 5 s`, `3 h 20 min`."""
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def count(number: int, noun: str) -> str:
    """`1 row`, `1,580 rows`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listed(items: Iterable[str], nothing: str = "none") -> str:
    """Names in a row."""
    return ", ".join(items) or nothing


def drops(dropped: Mapping[str, int]) -> str:
    """`SEALED_PROMPT 60: repeat sealed items; EMPTY 2`, most frequent first."""
    ordered = sorted(dropped.items(), key=lambda pair: (-pair[1], pair[0]))
    told = (f"{reason} {number:,}{_meaning(reason)}" for reason, number in ordered)
    return "; ".join(told) or "none"


def _meaning(reason: str) -> str:
    return ": repeat sealed items" if reason.startswith("SEALED") else ""


def recipe(raw: Mapping[str, object]) -> str:
    """The fields of a recipe that have an effect; all of them when it is not installed here."""
    fields = effective(raw)
    return _settings(str(fields.pop("name", "unnamed")), fields)


def gist(raw: Mapping[str, object]) -> str:
    """Which weights move, and the fields that differ from the recipe's own defaults."""
    found = specification(raw)
    if found is None:
        return recipe(raw)
    which = found.parametrisation()
    defaults = {name: field.get_default() for name, field in type(found).model_fields.items()}
    own = {
        name: value
        for name, value in found.effective().items()
        if value not in (defaults.get(name), which)
    }
    return _settings(f"{raw.get('name')} {which}", own)


def effective(raw: Mapping[str, object]) -> dict[str, object]:
    """The recipe without the fields that change nothing."""
    found = specification(raw)
    if found is None:
        return {key: value for key, value in raw.items() if value is not None}
    return found.effective()


def specification(raw: Mapping[str, object]) -> RecipeSpec | None:
    """The typed specification of a recorded recipe; None when it is not installed here."""
    name = str(raw.get("name"))
    try:
        known = MERGE if name == MERGE.name else plugins.recipes((name,))[name]
        return known.spec.model_validate(raw)
    except (Refused, ValidationError):
        return None


def taken(recipes: tuple[str, ...]) -> frozenset[RowKind]:
    """The kinds of rows that these recipes take; any kind when one is not installed here."""
    try:
        found = plugins.recipes(recipes).values()
        return frozenset(kind for recipe in found for kind in recipe.spec.uses())
    except Refused:
        return frozenset(get_args(RowKind))


def origins(state: State, datasets: Iterable[str]) -> str:
    """The sources of datasets by name."""
    known = [state.datasets.get(digest) for digest in datasets]
    names = [fact.source.origin if fact else "an unknown dataset" for fact in known]
    return listed(names, "no data")


def training(state: State, experiment: Experiment, brief: bool = False) -> str:
    """What an experiment does, in one sentence without its end; in brief, by the recipe's gist."""
    queued = experiment.queued
    if queued is None:
        return "the base model as it is"
    how = gist(queued.recipe) if brief else recipe(queued.recipe)
    start, *others = (_init(parent) for parent in queued.parents())
    if others:
        return f"{how} of {start} with {listed(others)}"
    rows, data = count(queued.rows, "row"), origins(state, queued.data)
    return f"{how} on {rows} of {data}, from {start}"


def _init(name: str) -> str:
    return "the base" if name == BASE else short(name)


def shown(path: Path) -> str:
    """A path as it may be pasted into a shell: relative where that is shorter, quoted if needed."""
    relative = os.path.relpath(path)
    return shlex.quote(min(relative, str(path), key=len))


def program() -> str:
    """What to type for `rsi`: the bare word where the shell finds this installation's, else the
    quoted path of its script, or of the interpreter with its module."""
    script = Path(sysconfig.get_path("scripts"), "rsi")
    if not script.is_file():
        return f"{shlex.quote(sys.executable)} -m rsi_master"
    found = shutil.which("rsi")
    if found is not None and script.samefile(found):
        return "rsi"
    return shown(script) if "/" in shown(script) else f"./{shown(script)}"


def block(text: str, indent: int) -> str:
    """Text of others with its later lines under the first, so that none passes for a line of ours;
    what shows nothing is said to be empty."""
    lines = "\n".join(map(visible, text.splitlines())).strip().split("\n")
    return ("\n" + " " * indent).join(lines) or "(nothing)"


def pasteable(text: str) -> str:
    """The text with its `rsi …` commands as they can be typed here."""
    return text.replace("`rsi ", f"`{program()} ")


def _settings(name: str, fields: Mapping[str, object]) -> str:
    told = [f"{key.replace('_', ' ')} {_value(value)}" for key, value in fields.items()]
    return f"{name} ({listed(told, 'as its defaults are')})"


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return " and ".join(str(inner) for inner in value)
    told = f"{value:g}" if isinstance(value, float) else str(value)
    return short(told) if told.startswith("sha256:") else told
