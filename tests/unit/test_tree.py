"""Removing a job's folder: whatever stands in it, nothing is left, nothing else is touched."""

import os
from pathlib import Path

import pytest

from rsi_master.expos.harvest import tail
from rsi_master.expos.tree import remove_tree


def nested(root: Path, depth: int) -> None:
    """A chain of folders deeper than the interpreter recurses and than a path may be long."""
    root.mkdir()
    here = Path.cwd()
    try:
        os.chdir(root)
        for _ in range(depth):
            Path("d" * 40).mkdir()
            os.chdir("d" * 40)
        Path("leaf").write_text("x")
    finally:
        os.chdir(here)


def test_a_deep_tree_is_removed_without_recursion(tmp_path: Path) -> None:
    nested(tmp_path / "out", 1500)
    remove_tree(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_links_are_removed_and_what_they_lead_to_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    out = tmp_path / "out"
    out.mkdir()
    (out / "folder").symlink_to(kept)
    (out / "file").symlink_to(kept / "file")
    (out / "gone").symlink_to(tmp_path / "nowhere")
    os.mkfifo(out / "fifo")
    remove_tree(out)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (kept / "file").read_text() == "x"


def test_folders_that_may_not_be_read_are_opened_first(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "locked" / "inner").mkdir(parents=True)
    (out / "locked").chmod(0)
    remove_tree(out)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_remove_is_no_error(tmp_path: Path) -> None:
    remove_tree(tmp_path / "nothing")
    (tmp_path / "link").symlink_to(tmp_path)
    remove_tree(tmp_path / "link")
    assert tmp_path.is_dir()


def test_a_file_that_may_not_be_read_has_no_tail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.txt"
    log.write_text("last words")
    assert tail(log, 5) == b"words"

    def refused(*_: object) -> int:
        raise PermissionError(13, "not yours")

    monkeypatch.setattr(os, "open", refused)
    assert tail(log, 5) == b""
