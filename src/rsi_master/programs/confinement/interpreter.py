"""The host paths that a confined Python needs, and which parts of this package it must not have."""

import sys
import sysconfig
from pathlib import Path

import rsi_master

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
# Packages that write or grade sealed items: a job neither reads nor imports them.
_COVERED = ("rsi_master.programs.nano.generator", "rsi_master.programs.sealed")
# Where under a library a copy of this package may lie: an old installation, another Python's.
_PACKAGES = tuple(f"{way}rsi_master" for way in ("", "*-packages/", "python*/*-packages/"))


def python_paths() -> tuple[Path, ...]:
    """Existing paths, none inside another.

    Not the whole prefix: a virtual environment may be the project folder, with runs in it.
    """
    schemes = ("stdlib", "platstdlib", "purelib", "platlib")
    found = [Path(sysconfig.get_paths()[scheme]) for scheme in schemes]
    prefixes = (Path(sys.prefix), Path(sys.base_prefix))
    found += [prefix / name for prefix in prefixes for name in ("lib", "lib64")]
    found += [Path(name) for name in _SYSTEM]
    found += [Path(folder) for folder in rsi_master.__path__]
    kept = [path for path in found if path.exists()]
    return tuple(dict.fromkeys(path for path in kept if not _inside_another(path, kept)))


def standard_library() -> tuple[Path, ...]:
    """Existing folders of the interpreter's own modules: all that agents' code may import from."""
    found = [Path(sysconfig.get_paths()[scheme]) for scheme in ("stdlib", "platstdlib")]
    kept = [path for path in found if path.exists()]
    return tuple(dict.fromkeys(path for path in kept if not _inside_another(path, kept)))


def packages_inside() -> tuple[Path, ...]:
    """Folders of installed packages that lie in the standard library's."""
    found = (path for top in standard_library() for path in sorted(top.glob("*-packages")))
    return tuple(dict.fromkeys(path.resolve() for path in found))


def covered_paths() -> tuple[Path, ...]:
    """Folders of the covered packages, wherever a Python that a job may read has them installed."""
    tops = [Path(folder) for folder in rsi_master.__path__]
    for library in python_paths():
        tops += [top for pattern in _PACKAGES for top in sorted(library.glob(pattern))]
    found = (top.joinpath(*name.split(".")[1:]).resolve() for top in tops for name in _COVERED)
    return tuple(dict.fromkeys(path for path in found if path.exists()))


def covered_modules() -> tuple[str, ...]:
    """Modules of covered packages that this process has loaded: a fork of it could read them."""
    inside = tuple(f"{name}." for name in _COVERED)
    return tuple(sorted(name for name in sys.modules if f"{name}.".startswith(inside)))


def _inside_another(path: Path, others: list[Path]) -> bool:
    return any(path != other and path.is_relative_to(other) for other in others)
