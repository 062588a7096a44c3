"""Every test session has an installation folder of its own, one thread, and repeatable examples."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is loaded

# No deadline and no fresh randomness: a test depends neither on the load of a machine nor on luck.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keys, tokens and sealed sets of this session; a person's own installation stays untouched."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_HOME", str(home))
        yield home
