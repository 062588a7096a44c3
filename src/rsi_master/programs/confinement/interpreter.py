"""The host paths that a confined Python needs: its libraries, shared libraries, this package."""

import sys
import sysconfig
from pathlib import Path

import rsi_master

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")


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


def _inside_another(path: Path, others: list[Path]) -> bool:
    return any(path != other and path.is_relative_to(other) for other in others)
