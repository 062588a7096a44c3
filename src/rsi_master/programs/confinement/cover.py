"""Covering: what a grant leaves of a path when folders inside it must not be read."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rsi_master.programs.confinement.plan import ConfinementError


def places(granted: Path, covered: Iterable[Path]) -> tuple[Path, ...]:
    """Where covered folders lie under a granted path, by its own name: it may be a link.

    Raises ConfinementError for a grant inside a covered folder.
    """
    top = granted.resolve(strict=True)
    found = []
    for folder in covered:
        real = folder.resolve(strict=True)
        if real.is_relative_to(top):
            found.append(granted / real.relative_to(top))
        elif top.is_relative_to(real):
            raise ConfinementError(f"cover {folder}", f"a grant of {granted} inside it", 0)
    return tuple(found)


def remainder(granted: Path, covered: Iterable[Path]) -> tuple[Path, ...]:
    """The granted path itself, or the siblings along the way to each covered folder.

    Links among these are left out: to grant one is to grant what it leads to.
    """
    ways = [place.relative_to(granted).parts for place in places(granted, covered)]
    return tuple(_beside(granted, ways)) if ways else (granted,)


def _beside(folder: Path, ways: list[tuple[str, ...]]) -> Iterator[Path]:
    if () in ways:
        return
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        onward = [names[1:] for names in ways if names[0] == entry.name]
        if onward:
            yield from _beside(Path(entry.path), onward)
        elif not entry.is_symlink():
            yield Path(entry.path)
