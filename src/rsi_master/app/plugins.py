"""Extension points by entry point: recipes of this installation, and the bases at hand."""

import importlib.util
import inspect
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path
from typing import get_args

from rsi_master.core.artifact import RowKind
from rsi_master.core.canonical import digest, encode
from rsi_master.core.errors import Refused
from rsi_master.core.recipe import Recipe, RecipeSpec

RECIPES = "rsi_master.recipes"
BASES = "rsi_master.bases"
_UPDATE = "install a version of its package that fits this one"


def recipes(names: tuple[str, ...]) -> dict[str, Recipe]:
    """The recipes that a contract names; raises Refused for one that is not installed, cannot be
    loaded or lacks something of the protocol `RecipeSpec`."""
    installed = {point.name: point for point in entry_points(group=RECIPES)}
    found: dict[str, Recipe] = {}
    for name in names:
        if name not in installed:
            raise Refused(
                "RECIPE_MISSING",
                f"recipe {name!r} is not installed; installed: {', '.join(sorted(installed))}",
            )
        found[name] = _recipe(installed[name])
    return found


def _recipe(point: EntryPoint) -> Recipe:
    """The recipe of an entry point, which may be written for another version."""
    try:
        recipe = point.load()
    except Exception as cause:  # the boundary to installed packages
        told = " ".join(f"{type(cause).__name__}: {cause}".split())
        raise Refused(
            "RECIPE_INVALID", f"recipe {point.name!r} cannot be loaded: {told}; {_UPDATE}"
        ) from cause
    if not isinstance(recipe, Recipe):
        raise Refused("RECIPE_INVALID", f"entry point {point.name!r} is no Recipe")
    lacking = next(_lacking(recipe.spec), None)
    if lacking is not None:
        raise Refused("RECIPE_INVALID", f"recipe {point.name!r} {lacking}; {_UPDATE}")
    return recipe


def _lacking(spec: type[RecipeSpec]) -> Iterator[str]:
    """In words, what of `RecipeSpec` a specification leaves out or has in another shape."""
    if not isinstance(getattr(spec, "objective", None), str):
        yield "declares no objective, the word for its loss"
    kinds = get_args(RowKind)
    if getattr(spec, "takes", None) not in kinds:
        yield f"declares no takes, the kind of rows that it trains on: {', '.join(kinds)}"
    for name, method in vars(RecipeSpec).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        own, given = getattr(spec, name), list(inspect.signature(method).parameters)
        if own is method:
            yield f"defines no {name}({', '.join(given[1:])})"
        elif not _fits(own, given):
            yield f"has a {name} that does not take ({', '.join(given[1:])})"


def _fits(method: Callable[..., object], arguments: Sequence[str]) -> bool:
    """Whether a method can be called with these arguments by position."""
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        return False
    return True


def source_digest(recipe: Recipe) -> str:
    """Digest of the packages of specification and program, as they would be imported now.

    It covers every source file beside and below the two modules, none of what they import from
    elsewhere.
    """
    modules = (recipe.spec.__module__, recipe.program.entry.partition(":")[0])
    return digest(encode({module: _sources(recipe.name, module) for module in modules}))


def _sources(recipe: str, module: str) -> dict[str, str]:
    """The digest of each source file of the module's package by its name in there."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise Refused("RECIPE_MISSING", f"module {module} of recipe {recipe} is missing")
    origin = Path(spec.origin)
    files = origin.parent.rglob("*.py") if spec.parent else [origin]
    return {file.relative_to(origin.parent).as_posix(): digest(file.read_bytes()) for file in files}


def base_folder(name: str) -> Path:
    """The folder of an installed base, found by the package that ships it."""
    for point in entry_points(group=BASES, name=name):
        package, _, inner = point.value.partition(":")
        return Path(str(files(package))) / inner.replace(".", "/")
    known = ", ".join(sorted(point.name for point in entry_points(group=BASES)))
    raise Refused("BASE_MISSING", f"base {name!r} is not installed; installed: {known}")
