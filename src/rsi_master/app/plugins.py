"""Extension points by entry point: recipes of this installation, and the bases at hand."""

import importlib.util
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

from rsi_master.core.canonical import digest, encode
from rsi_master.core.errors import Refused
from rsi_master.core.recipe import Recipe

RECIPES = "rsi_master.recipes"
BASES = "rsi_master.bases"


def recipes(names: tuple[str, ...]) -> dict[str, Recipe]:
    """The recipes that a contract names; raises Refused for one that is not installed."""
    installed = {point.name: point for point in entry_points(group=RECIPES)}
    found: dict[str, Recipe] = {}
    for name in names:
        if name not in installed:
            raise Refused(
                "RECIPE_MISSING",
                f"recipe {name!r} is not installed; installed: {', '.join(sorted(installed))}",
            )
        recipe = installed[name].load()
        if not isinstance(recipe, Recipe):
            raise Refused("RECIPE_INVALID", f"entry point {name!r} is no Recipe")
        found[name] = recipe
    return found


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
