"""What is not installed is told before anything is imported."""

import pytest

from rsi_master.core.errors import Refused
from rsi_master.programs import stack


def test_what_is_there_is_no_matter() -> None:
    stack.require("json", "numpy")
    assert set(stack.versions(("numpy", "pydantic"))) == {"numpy", "pydantic"}


def test_all_that_is_missing_is_named_with_the_way_to_install_it() -> None:
    for missing in (
        lambda: stack.require("json", "no_such_stack", "nor_this"),
        lambda: stack.versions(("numpy", "no_such_stack", "nor_this")),
    ):
        with pytest.raises(Refused, match=r"^no_such_stack, nor_this not installed; .*\[train\]$"):
            missing()
