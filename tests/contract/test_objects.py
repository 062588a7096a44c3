"""The object stores: one suite on the fake and on the disk, then what only files can show."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.canonical import digest
from rsi_master.core.errors import Broken, Finding, Misuse
from rsi_master.core.ports import ObjectStore
from rsi_master.testing.stores import MemoryObjects

ABSENT = digest(b"absent")


@pytest.fixture(params=["memory", "folder"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """An empty object store of each kind."""
    return MemoryObjects() if request.param == "memory" else FolderObjects(tmp_path / "objects é")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as a job leaves it."""
    root = tmp_path / "out"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "weights.safetensors").write_bytes(b"\x00" * 3000)
    (root / "deep" / "er" / "naïve name.txt").write_text("text")
    (root / "empty").write_bytes(b"")
    return root


class TestObjects:
    """What every object store does."""

    def test_a_blob_comes_back_under_its_digest(self, objects: ObjectStore) -> None:
        stored = objects.put_bytes("log", b"hello")
        assert stored == objects.put_bytes("log", b"hello")
        assert (stored.digest, stored.size, stored.files) == (digest(b"hello"), 5, 1)
        assert objects.get_bytes(stored.digest) == b"hello"
        assert objects.check(stored.digest) is None

    def test_a_folder_comes_back_as_it_was(
        self, objects: ObjectStore, folder: Path, tmp_path: Path
    ) -> None:
        stored = objects.put_folder("checkpoint", folder)
        assert (stored.kind, stored.size, stored.files) == ("checkpoint", 3004, 3)
        assert set(objects.files(stored.digest)) == {
            "weights.safetensors", "deep/er/naïve name.txt", "empty",
        }  # fmt: skip
        objects.materialise(stored.digest, tmp_path / "laid out")
        assert objects.check(stored.digest) is None
        assert objects.put_folder("checkpoint", tmp_path / "laid out").digest == stored.digest
        mode = (tmp_path / "laid out" / "empty").stat().st_mode
        assert stat.S_IMODE(mode) == 0o444

    def test_a_blob_is_laid_out_as_a_file(self, objects: ObjectStore, tmp_path: Path) -> None:
        stored = objects.put_bytes("dataset", b"rows")
        objects.materialise(stored.digest, tmp_path / "rows.jsonl")
        assert (tmp_path / "rows.jsonl").read_bytes() == b"rows"
        with pytest.raises(Broken, match="File exists"):
            objects.materialise(stored.digest, tmp_path / "rows.jsonl")
        assert (tmp_path / "rows.jsonl").read_bytes() == b"rows"

    def test_what_is_absent_is_a_finding(self, objects: ObjectStore, tmp_path: Path) -> None:
        for read in (objects.get_bytes, objects.files):
            with pytest.raises(Finding, match="missing"):
                read(ABSENT)
        with pytest.raises(Finding, match="missing"):
            objects.materialise(ABSENT, tmp_path / "absent")
        assert "missing" in (objects.check(ABSENT) or "")

    @pytest.mark.parametrize("name", ["", "sha256:", "sha256:../../etc/passwd", "md5:" + "0" * 64])
    def test_what_is_no_digest_is_misuse(self, objects: ObjectStore, name: str) -> None:
        with pytest.raises(Misuse):
            objects.get_bytes(name)

    def test_a_blob_never_passes_for_a_folder(self, objects: ObjectStore, tmp_path: Path) -> None:
        inner = objects.put_bytes("log", b"inner").digest
        crafted = objects.put_bytes("log", b'{"files":{"name":"' + inner.encode() + b'"}}')
        objects.materialise(crafted.digest, tmp_path / "file")
        assert (tmp_path / "file").is_file()
        with pytest.raises(Finding):
            objects.files(crafted.digest)

    @pytest.mark.parametrize(
        "plant",
        [
            lambda path: path.symlink_to("/etc/passwd"),
            lambda path: path.symlink_to("/etc"),
            lambda path: path.symlink_to("weights.safetensors"),
            lambda path: path.hardlink_to(path.with_name("empty")),
            os.mkfifo,
        ],
        ids=["link to a file", "link to a folder", "link inside", "hard link", "pipe"],
    )
    def test_what_is_no_plain_file_is_refused(
        self, objects: ObjectStore, folder: Path, plant: Callable[[Path], None]
    ) -> None:
        plant(folder / "planted")
        with pytest.raises(Misuse) as refused:
            objects.put_folder("outputs", folder)
        assert refused.value.code == "NOT_A_PLAIN_FILE"

    def test_the_files_of_a_base_may_be_shared_as_installers_do(
        self, objects: ObjectStore, folder: Path
    ) -> None:
        alone = objects.put_folder("base", folder).digest
        (folder.parent / "cache").hardlink_to(folder / "empty")
        assert objects.put_folder("base", folder).digest == alone

    @pytest.mark.parametrize("name", [b"new\nline", b"\xff\xfe", b"bell\x07"])
    def test_an_unprintable_name_is_refused(
        self, objects: ObjectStore, folder: Path, name: bytes
    ) -> None:
        Path(os.fsdecode(bytes(folder) + b"/" + name)).write_bytes(b"")
        with pytest.raises(Misuse) as refused:
            objects.put_folder("outputs", folder)
        assert refused.value.code == "FILE_NAME"


class TestFolderObjects:
    """What only files can show."""

    def test_replaced_bytes_are_found_by_every_reader(self, tmp_path: Path, folder: Path) -> None:
        objects = FolderObjects(tmp_path / "objects")
        stored = objects.put_folder("checkpoint", folder)
        blob = objects.files(stored.digest)["weights.safetensors"]
        place = tmp_path / "objects" / blob[7:9] / blob[9:]
        place.chmod(0o644)
        place.write_bytes(b"\x01" * 3000)
        assert "weights.safetensors: replaced" in (objects.check(stored.digest) or "")
        with pytest.raises(Finding, match="do not match"):
            objects.get_bytes(blob)
        with pytest.raises(Finding, match="do not match"):
            objects.materialise(stored.digest, tmp_path / "laid out")
        assert not (tmp_path / "laid out" / "weights.safetensors").exists()
        with pytest.raises(Finding, match="do not match"):
            objects.put_bytes("log", b"\x00" * 3000)

    @pytest.mark.parametrize(
        "name", ["../escape", "/etc/cron.d/x", "a//b", "a/./b", "", "nul\\u0000"]
    )
    def test_a_forged_manifest_escapes_nowhere(self, tmp_path: Path, name: str) -> None:
        objects = FolderObjects(tmp_path / "objects")
        inner = objects.put_bytes("log", b"inner").digest
        data = f'{{"files":{{"{name}":"{inner}"}}}}'.encode()
        forged = digest(data)
        place = tmp_path / "objects" / forged[7:9] / (forged[9:] + ".folder")
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(data)
        with pytest.raises(Finding) as found:
            objects.materialise(forged, tmp_path / "laid out")
        assert found.value.code == "MANIFEST_UNREADABLE"
        assert objects.check(forged) is not None

    def test_stored_files_are_read_only_and_nothing_else_stays(self, tmp_path: Path) -> None:
        stored = FolderObjects(tmp_path / "objects").put_bytes("log", b"hello")
        files = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
        place = tmp_path / "objects" / stored.digest[7:9] / stored.digest[9:]
        assert files == [place]
        assert stat.S_IMODE(place.stat().st_mode) == 0o444

    def test_a_folder_without_end_is_refused(self, tmp_path: Path) -> None:
        deep = tmp_path / "out" / "/".join(["d"] * 20)
        deep.mkdir(parents=True)
        with pytest.raises(Misuse, match="folders deep"):
            FolderObjects(tmp_path / "objects").put_folder("outputs", tmp_path / "out")
