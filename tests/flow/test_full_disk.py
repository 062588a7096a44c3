"""A run whose first files cannot be written is not begun, and leaves nothing."""

from pathlib import Path

import pytest

from rsi_master.app import start
from rsi_master.app.home import Home
from rsi_master.core.errors import Broken
from rsi_master.testing.disk import full_disk
from tests.flow.contracts import sketch


def test_where_no_sealed_set_can_be_written_no_run_begins(tmp_path: Path) -> None:
    home, runs = Home(tmp_path / "home"), tmp_path / "runs"
    home.prepare()
    (home.root / "sealed").write_text("a file in its way", encoding="utf-8")
    with pytest.raises(Broken, match=r"writing .*/sealed/.*: .* then run this again") as full:
        start.create(sketch(), "contract", runs, home)
    assert full.value.code == "DISK"
    assert list(runs.iterdir()) == []


def test_a_run_folder_that_does_not_fit_takes_its_sealed_set_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, runs = Home(tmp_path / "home"), tmp_path / "runs"
    link = Home.link_seal

    def late(self: Home, run: str, folder: Path) -> None:
        with full_disk(8):
            link(self, run, folder)

    monkeypatch.setattr(Home, "link_seal", late)
    with pytest.raises(Broken, match=r"File too large; .* then run this again"):
        start.create(sketch(), "contract", runs, home)
    assert list(runs.iterdir()) == list((home.root / "sealed").iterdir()) == []
    monkeypatch.undo()
    assert start.create(sketch(), "contract", runs, home).id
