"""Prepared bases: written once by a foreign program, whole or not at all, and as recorded."""

import fcntl
import json
import os
import shutil
import struct
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import pytest

from rsi_master.app import bases, contracts, inspection
from rsi_master.app.home import Home
from rsi_master.core.contract import parse
from rsi_master.core.errors import Broken, Finding, Misuse, Refused
from rsi_master.testing.folders import digest_of
from rsi_master.testing.programs import interpreter

NAME = "smollm2"
HEADER = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + struct.pack("<f", 0.5)
NO_TENSOR = struct.pack("<Q", 2) + b"{}"
TOKENIZER = json.dumps({"model": {"vocab": {"a": 0}}})
TWO_TOKENS = json.dumps({"model": {"vocab": {"a": 0, "b": 1}}})
CONFIG = json.dumps({"model_type": "tiny", "vocab_size": 1})
WRITES = f"""
(draft / "model.safetensors").write_bytes({WEIGHTS!r})
(draft / "config.json").write_text({CONFIG!r})
(draft / "tokenizer.json").write_text({TOKENIZER!r})
"""
AGAIN = f"run `rsi base add {NAME}` again"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def left(home: Home) -> list[str]:
    """What lies in the folder of bases beside the lock, which stays."""
    folder = home.root / "bases"
    names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    return [name for name in names if name != bases.LOCK]


def bytes_read() -> int:
    """How much this process has read so far."""
    counted = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counted["rchar"])


def test_a_base_is_prepared_once_and_found_afterwards(tmp_path: Path, home: Home) -> None:
    assert not bases.there(NAME, home)
    first = bases.add(NAME, home, interpreter(tmp_path, WRITES))
    assert first.new
    assert first.digest == digest_of(first.folder)
    assert bases.there(NAME, home)
    assert bases.find(NAME, home) == first.folder == home.root / "bases" / NAME
    again = bases.add(NAME, home, "/nonexistent/python")
    assert again == bases.Added(first.folder, first.digest, new=False)
    assert left(home) == [NAME]
    recorded = (first.folder / inspection.DIGESTS).read_text(encoding="utf-8")
    assert [line.split()[1] for line in recorded.splitlines()] == sorted(inspection.NEEDED)


def test_large_files_are_read_once(tmp_path: Path, home: Home) -> None:
    size = 8_000_000
    body = f"{WRITES}\n(draft / 'large').write_bytes(bytes({size}))"
    for python in (interpreter(tmp_path, body), "/nonexistent/python"):
        before = bytes_read()
        bases.add(NAME, home, python)
        assert size <= bytes_read() - before < 1.5 * size


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "model.safetensors is missing"),
        (f"{WRITES}\n(draft / 'tokenizer.json').unlink()", "tokenizer.json is missing"),
        (f"{WRITES}\n(draft / 'model.safetensors').write_bytes(b'w')", "not a safetensors file"),
        (
            f"{WRITES}\n(draft / 'model.safetensors').write_bytes({WEIGHTS[:-1]!r})",
            "not a safetensors file: .*not fully covered",
        ),
        (f"{WRITES}\n(draft / 'model.safetensors').write_bytes({NO_TENSOR!r})", "holds no tensor"),
        (f"{WRITES}\n(draft / 'config.json').write_text('{{')", "config.json is not JSON"),
        (f"{WRITES}\n(draft / 'config.json').write_text('[]')", "config.json is not an object"),
        (
            f"{WRITES}\n(draft / 'config.json').write_text('{{}}')",
            "config.json names no model_type",
        ),
        (
            f"{WRITES}\n(draft / 'tokenizer.json').write_text('{{}}')",
            "tokenizer.json is not a token",
        ),
        (
            f"{WRITES}\n(draft / 'tokenizer.json').write_text({TWO_TOKENS!r})",
            "tokenizer.json has 2 tokens, vocab_size in config.json is 1",
        ),
        (f"{WRITES}\n(draft / 'DIGESTS').write_text('')", "DIGESTS is taken"),
        (f"{WRITES}\n(draft / 'onnx').mkdir()", "onnx is a folder"),
        (f"{WRITES}\n(draft / 'link').symlink_to('/etc/hostname')", "link is a folder, link"),
        (f"{WRITES}\nos.mkfifo(draft / 'pipe')", "pipe is a folder, link or special file"),
        (f"{WRITES}\nos.link(draft / 'config.json', draft / 'two')", "is a hard link"),
    ],
)
def test_what_is_no_base_is_not_published(
    tmp_path: Path, home: Home, body: str, reason: str
) -> None:
    with pytest.raises(Broken, match=f"reported success, but .*{reason}.*; report it") as caught:
        bases.add(NAME, home, interpreter(tmp_path, body))
    assert "\n" not in caught.value.message
    assert left(home) == []


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("model.safetensors", "is not as recorded in DIGESTS"),
        ("more.json", "is not in DIGESTS"),
        (inspection.DIGESTS, "is not as it was written"),
    ],
)
def test_a_base_that_changed_is_a_finding_with_its_fix(
    tmp_path: Path, home: Home, file: str, reason: str
) -> None:
    folder = bases.add(NAME, home, interpreter(tmp_path, WRITES)).folder
    (folder / file).write_bytes(b"other")
    with pytest.raises(Finding, match=f"{file} {reason}; remove {folder} and {AGAIN}"):
        bases.add(NAME, home)


@pytest.mark.parametrize("record", [None, b"", b"\xff\xfe", b"\n\n", b"0  config.json"])
def test_a_record_that_says_nothing_of_the_base_is_a_finding(
    tmp_path: Path, home: Home, record: bytes | None
) -> None:
    folder = bases.add(NAME, home, interpreter(tmp_path, WRITES)).folder
    (folder / inspection.DIGESTS).unlink()
    if record is not None:
        (folder / inspection.DIGESTS).write_bytes(record)
    with pytest.raises(Finding, match=f"DIGESTS is (not as it was written|missing); .*{AGAIN}"):
        bases.add(NAME, home)


def test_an_emptied_base_is_a_finding_though_its_record_is_empty_too(home: Home) -> None:
    home.base(NAME).mkdir(parents=True)
    (home.base(NAME) / inspection.DIGESTS).touch()
    with pytest.raises(Finding, match=AGAIN):
        bases.add(NAME, home)


def test_a_folder_or_link_among_its_files_is_a_finding(tmp_path: Path, home: Home) -> None:
    folder = bases.add(NAME, home, interpreter(tmp_path, WRITES)).folder
    (folder / "inner").mkdir()
    with pytest.raises(Finding, match=f"inner is a folder.*{AGAIN}"):
        bases.add(NAME, home)
    (folder / "inner").rmdir()
    (folder / "inner").symlink_to(folder / "config.json")
    with pytest.raises(Finding, match=f"inner is a .*link.*{AGAIN}"):
        bases.pin(NAME, home)


def test_what_else_stands_in_its_place_is_a_finding(home: Home) -> None:
    place = home.base(NAME)
    place.parent.mkdir(parents=True)
    for target in (None, "nowhere", "/"):
        kind = "link" if target else "file"
        place.symlink_to(target) if target else place.touch()
        for use in (bases.add, bases.find, bases.there):
            with pytest.raises(Finding, match=f"a {kind}, no folder; remove {place} and {AGAIN}"):
                use(NAME, home)
        place.unlink()


def test_a_disk_that_fails_is_told_with_the_next_step(tmp_path: Path, home: Home) -> None:
    home.root.mkdir()
    (home.root / "bases").touch()
    with pytest.raises(
        Broken, match=f"base {NAME}: {home.root}/bases: .*; remove it, then {AGAIN}"
    ):
        bases.add(NAME, home, interpreter(tmp_path, WRITES))


def test_a_damaged_base_is_not_pinned_into_a_contract(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RSI_HOME", str(home.root))
    added = bases.add(NAME, home, interpreter(tmp_path, WRITES))
    assert bases.pin(NAME, home) == added.digest
    assert parse(contracts.fresh("mine", NAME), "mine").base.digest == added.digest
    with (added.folder / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, os.SEEK_END)
        weights.write(b"\1")
    with pytest.raises(
        Finding, match=f"model.safetensors is not as recorded in DIGESTS; .*{AGAIN}"
    ):
        contracts.fresh("mine", NAME)


def test_one_process_at_a_time_prepares(tmp_path: Path, home: Home) -> None:
    python = interpreter(tmp_path, WRITES)
    (home.root / "bases").mkdir(parents=True)
    with (home.root / "bases" / bases.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another process prepares a base"):
            bases.add(NAME, home, python)
    assert bases.add(NAME, home, python).new


def test_who_comes_second_is_told_that_the_base_was_there(tmp_path: Path, home: Home) -> None:
    faster = bases.add(NAME, Home(tmp_path / "other"), interpreter(tmp_path, WRITES))

    class Late(Home):
        """Another process publishes between the first look and the lock."""

        def prepare(self) -> None:
            shutil.copytree(faster.folder, self.base(NAME))

    late = Late(home.root)
    added = bases.add(NAME, late, "/nonexistent/python")
    assert added == bases.Added(late.base(NAME), faster.digest, new=False)


def test_a_base_that_was_not_added_is_refused_with_the_command(home: Home) -> None:
    for use in (bases.find, bases.pin):
        with pytest.raises(Refused, match="run `rsi base add smollm2` once"):
            use(NAME, home)
        with pytest.raises(Refused, match="base 'none' is not installed"):
            use("none", home)
    assert not home.root.exists(), "looking changes nothing"


def test_a_base_that_a_package_ships_is_not_added(home: Home) -> None:
    folder = bases.find("nano", home)
    assert (folder / "config.json").is_file()
    assert bases.pin("nano", home) == digest_of(folder)
    with pytest.raises(Misuse, match="no base 'nano' can be added; there are: smollm2"):
        bases.add("nano", home)


def installed(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str, str]) -> None:
    """These entry points beside those that are installed: group, name, value."""
    more = [EntryPoint(group=group, name=name, value=value) for group, name, value in points]

    def found(group: str, name: str | None = None) -> list[EntryPoint]:
        every = [*entry_points(group=group), *(point for point in more if point.group == group)]
        return [point for point in every if name in (None, point.name)]

    monkeypatch.setattr(bases, "entry_points", found)


def test_another_package_may_bring_a_prepared_base(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, (bases.PREPARED, "mine", "foreign.module"))
    assert bases.preparable() == ("mine", NAME)
    body = f"{WRITES}\n(draft / 'called').write_text(' '.join(sys.argv[1:4]))"
    body += "\n(draft / 'seen').write_text(os.getcwd() + ' ' + os.environ.get('PATH', 'no path'))"
    folder = bases.add("mine", home, interpreter(tmp_path, body)).folder
    assert (folder / "called").read_text() == "-I -m foreign.module"
    assert (folder / "seen").read_text() == "/ no path"


@pytest.mark.parametrize("name", ["nano", NAME])
def test_a_name_that_is_taken_is_refused(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    installed(monkeypatch, (bases.PREPARED, name, "foreign.module"))
    with pytest.raises(Refused, match=f"both bring a base '{name}'; uninstall one") as caught:
        bases.add(name, home, interpreter(tmp_path, WRITES))
    assert caught.value.message.startswith("rsi-master and the package of foreign.module both")
    assert left(home) == []


def test_a_shipped_base_keeps_its_name(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = bases.find("nano", home)
    installed(monkeypatch, (bases.PREPARED, "nano", "foreign.module"))
    assert bases.find("nano", home) == shipped
    assert bases.pin("nano", home) == digest_of(shipped)
    assert bases.preparable() == (NAME,)


def test_an_entry_point_that_is_no_module_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, (bases.PREPARED, "mine", "foreign.module:main"))
    with pytest.raises(Refused, match="module:main', which is no module; report it there"):
        bases.add("mine", home)
