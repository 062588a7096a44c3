"""Extension points by entry point: recipes of this installation, and the bases at hand."""

import hashlib
import importlib.util
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

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
    """Digest of the source of specification and program, as they would be imported now."""
    hasher = hashlib.sha256()
    for module in (recipe.spec.__module__, recipe.program.entry.partition(":")[0]):
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise Refused("RECIPE_MISSING", f"module {module} of recipe {recipe.name} is missing")
        hasher.update(Path(spec.origin).read_bytes())
    return f"sha256:{hasher.hexdigest()}"


def base_folder(name: str) -> Path:
    """The folder of an installed base, found by the package that ships it."""
    for point in entry_points(group=BASES, name=name):
        package, _, inner = point.value.partition(":")
        return Path(str(files(package))) / inner.replace(".", "/")
    known = ", ".join(sorted(point.name for point in entry_points(group=BASES)))
    raise Refused("BASE_MISSING", f"base {name!r} is not installed; installed: {known}")
