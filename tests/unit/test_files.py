"""What is written for a person is whole, or nothing is changed: places that cannot be, disks that
fail."""

import os
from functools import partial
from pathlib import Path

import pytest

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app.home import Home
from rsi_master.core.action import Caller, Role
from rsi_master.core.errors import Broken, Misuse
from rsi_master.expos.tokens import Tokens
from rsi_master.interfaces.cli import main
from rsi_master.interfaces.files import lay_new, write, write_new
from rsi_master.testing.disk import full_disk

LONG = "x" * 20_000
PERSON = Caller(role=Role.OPERATOR, node="operator", actor="person")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_are_written_over_those_of_before_with_the_mode_of_the_user(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "out", {"a": "old", "b": "old"})
        write(tmp_path / "out", {"a": "n\u00e9w"})
    finally:
        os.umask(before)
    assert names(tmp_path / "out") == ["a", "b"]
    assert (tmp_path / "out" / "a").read_text(encoding="utf-8") == "n\u00e9w"
    assert (tmp_path / "out" / "a").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_all_files_of_before(tmp_path: Path) -> None:
    write(tmp_path, {"a": "old", "b": "old"})
    with full_disk(), pytest.raises(Broken, match="File too large; free or repair the") as broken:
        write(tmp_path, {"a": "new", "b": LONG})
    assert str(tmp_path) in broken.value.message
    assert {name: (tmp_path / name).read_text() for name in names(tmp_path)} == {
        "a": "old",
        "b": "old",
    }


def test_a_full_disk_leaves_no_new_file_so_that_the_next_try_writes_it(tmp_path: Path) -> None:
    target = tmp_path / "mine.toml"
    with full_disk(), pytest.raises(Broken):
        write_new(target, LONG)
    assert names(tmp_path) == []
    write_new(target, LONG)
    assert target.read_text() == LONG
    with pytest.raises(Misuse, match="exists and is not overwritten"):
        write_new(target, "other")
    assert names(tmp_path) == ["mine.toml"]
    assert target.read_text() == LONG


def test_a_broken_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "away")
    with pytest.raises(Misuse, match="exists and is not overwritten"):
        write_new(tmp_path / "link", "text")
    assert names(tmp_path) == ["link"]


@pytest.mark.parametrize("place", ["none/mine.toml", "file/mine.toml", "n" * 300])
def test_a_place_that_cannot_be_is_told_with_another_way(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misuse, match=r"cannot be written: .*; name another --out") as bad:
        write_new(tmp_path / place, "text")
    assert bad.value.code == "UNWRITABLE"
    with pytest.raises(Misuse, match=r"cannot be written: .*; name another --out"):
        lay_new(tmp_path / place, Path.touch)
    assert names(tmp_path) == ["file"]


def test_an_artifact_is_laid_out_whole_or_not_at_all(tmp_path: Path) -> None:
    made, out = tmp_path / "made", tmp_path / "out"
    made.mkdir()
    out.mkdir()
    (made / "a").write_text("small")
    (made / "b").write_text(LONG)
    objects = FolderObjects(tmp_path / "objects")
    folder, blob = objects.put_folder("checkpoint", made), objects.put_bytes("log", LONG.encode())
    for artifact in (folder, blob):
        with full_disk(), pytest.raises(Broken):
            lay_new(out / "new", partial(objects.materialise, artifact.digest))
        assert names(out) == []
    lay_new(out / "new", partial(objects.materialise, folder.digest))
    assert names(out) == ["new"]
    assert names(out / "new") == ["a", "b"]


def test_init_on_a_full_disk_leaves_nothing_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with full_disk(100):
        assert main(["init", "mine"]) == 7
    told = capsys.readouterr().err
    assert told.startswith("rsi: DISK: mine.toml cannot be written: File too large; free or repair")
    assert names(tmp_path) == []
    assert main(["init", "mine"]) == 0


def test_a_token_that_cannot_be_kept_leaves_those_of_before(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    first = tokens.issue_lasting(PERSON)
    with full_disk(100), pytest.raises(OSError, match="File too large"):
        tokens.issue_lasting(PERSON)
    assert names(tmp_path) == ["tokens.json"]
    assert tokens.caller(first) == PERSON


def test_where_questions_lie_is_remembered_whole_or_not_at_all(tmp_path: Path) -> None:
    home, digest = Home(tmp_path / "home"), "sha256:" + "0" * 64
    home.link_items(digest, tmp_path / "first.jsonl")
    with full_disk(8), pytest.raises(Broken, match="run this again"):
        home.link_items(digest, tmp_path / "second.jsonl")
    assert home.items(digest) == tmp_path / "first.jsonl"
