"""Bases that packages ship: damage to one is found before anything is sealed, and told in words."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rsi_master.app import bases, contracts, inspection, plugins, start
from rsi_master.app.home import Home
from rsi_master.core.errors import Broken, Finding, Refused
from rsi_master.interfaces import doctor
from rsi_master.interfaces.cli import main
from rsi_master.testing.folders import digest_of
from rsi_master.testing.programs import interpreter

ROOT = Path(__file__).parents[2]
FIX = "reinstall rsi-master, or restore the folder in its checkout"
Damage = Callable[[Path], object]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return Home.default()


@pytest.fixture
def nano(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the embedded base in its place; its own package stays as it is."""
    return put(tmp_path, monkeypatch, "nano")


def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> Path:
    """A copy of a shipped base in its place."""
    own = plugins.base_folder
    folder = Path(shutil.copytree(own(name), tmp_path / "package" / name))
    monkeypatch.setattr(
        plugins, "base_folder", lambda asked: folder if asked == name else own(asked)
    )
    return folder


def flip(path: Path) -> None:
    """Change the last bit of a file."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    """Keep the first half of a file."""
    os.truncate(path, path.stat().st_size // 2)


def refused(name: str, text: str, home: Home, tmp_path: Path) -> Finding:
    """What a run under the contract is refused with; nothing is sealed and no folder made."""
    with pytest.raises(Finding) as caught:
        start.create(text, "contract.toml", tmp_path / "runs", home)
    assert caught.value.code == "BASE_DAMAGED"
    assert caught.value.message.startswith(f"base '{name}': ")
    assert not (tmp_path / "runs").exists()
    assert not (home.root / "sealed").exists()
    return caught.value


DAMAGES: dict[str, tuple[Damage, str]] = {
    "flipped": (
        lambda base: flip(base / "model.safetensors"),
        "model.safetensors is not as recorded in DIGESTS",
    ),
    "card": (
        lambda base: flip(base / "MODEL_CARD.md"),
        "MODEL_CARD.md is not as recorded in DIGESTS",
    ),
    "missing": (lambda base: (base / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "new": (lambda base: (base / "more.json").touch(), "more.json is not in DIGESTS"),
    "record": (lambda base: truncate(base / "DIGESTS"), "DIGESTS is not as it was written"),
    "emptied record": (
        lambda base: (base / "DIGESTS").write_bytes(b""),
        "DIGESTS is not as it was written",
    ),
    "link": (
        lambda base: (base / "link.json").symlink_to(base / "config.json"),
        "link.json is a link or special file; write a copy",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_to_the_embedded_base_is_refused_everywhere_and_told(
    nano: Path, home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    text = contracts.demo(7)
    act, reason = DAMAGES[damage]
    act(nano)
    told = f"base 'nano': {nano}: {reason}; {FIX}"
    assert refused("nano", text, home, tmp_path).message == told
    for words in (["init", "mine"], ["demo"]):
        assert main(words) == 1
        assert capsys.readouterr().err == f"rsi: BASE_DAMAGED: {told}\n"
    assert not Path("mine.toml").exists()
    assert not (home.root / "sealed").exists()
    health = doctor.examine(home, tmp_path / "runs")
    assert not health.ready
    assert [check.detail for check in health.checks if check.name == "bases"] == [told]


def test_own_questions_are_not_looked_at_with_a_damaged_base(
    nano: Path, home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truncate(nano / "model.safetensors")
    assert main(["init", "mine", "--benchmark", str(tmp_path / "none.jsonl")]) == 1
    assert "BASE_DAMAGED: base 'nano': " in capsys.readouterr().err


def test_an_intact_base_is_read_once_and_has_the_digest_of_its_folder(
    nano: Path, home: Home
) -> None:
    size = sum(path.stat().st_size for path in nano.iterdir())
    before = bytes_read()
    found = bases.sound("nano", home)
    assert size <= bytes_read() - before < 1.5 * size
    assert found == bases.Base(nano, digest_of(nano))


def bytes_read() -> int:
    """How much this process has read so far."""
    counted = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counted["rchar"])


def test_the_lines_of_a_record_may_stand_in_any_order_and_name_files_in_folders(
    nano: Path, home: Home
) -> None:
    (nano / "more").mkdir()
    (nano / "more" / "a.json").write_text("{}")
    empty = inspection.files(nano)["more/a.json"].removeprefix("sha256:")
    lines = (nano / "DIGESTS").read_text().splitlines()
    (nano / "DIGESTS").write_text("\n".join([*reversed(lines), f"{empty}  more/a.json"]))
    assert bases.pin("nano", home) == digest_of(nano)
    (nano / "more" / "a.json").write_text("[]")
    with pytest.raises(Finding, match=r"more/a\.json is not as recorded in DIGESTS; reinstall"):
        bases.pin("nano", home)


def test_a_base_without_a_record_is_allowed(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path, monkeypatch, "sketch")
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors"]
    assert bases.pin("sketch", home) == digest_of(folder)


FORMS: dict[str, tuple[Damage, str]] = {
    "no tokenizer": (lambda base: (base / "tokenizer.json").unlink(), "tokenizer.json is missing"),
    "half a tokenizer": (
        lambda base: truncate(base / "tokenizer.json"),
        "tokenizer.json is not a tokenizer: ",
    ),
    "no vocabulary": (
        lambda base: (base / "tokenizer.json").write_text("{}"),
        "tokenizer.json is not a tokenizer: ",
    ),
    "no configuration": (lambda base: (base / "config.json").unlink(), "config.json is missing"),
    "empty configuration": (
        lambda base: (base / "config.json").write_text("{}"),
        "config.json names no model_type",
    ),
    "half a configuration": (
        lambda base: truncate(base / "config.json"),
        "config.json is not JSON",
    ),
    "another size": (lambda base: size(base, 500), "tokenizer.json has 518 tokens, vocab_size in "),
    "no weights": (lambda base: (base / "model.safetensors").unlink(), "model.safetensors is miss"),
    "half the weights": (
        lambda base: truncate(base / "model.safetensors"),
        "model.safetensors is not a safetensors file",
    ),
}


def size(base: Path, vocabulary: int) -> None:
    """Give the configuration another number of tokens."""
    config = json.loads((base / "config.json").read_bytes())
    (base / "config.json").write_text(json.dumps({**config, "vocab_size": vocabulary}))


@pytest.mark.parametrize("form", FORMS)
def test_a_base_without_a_record_is_judged_by_its_form(
    nano: Path, home: Home, tmp_path: Path, form: str
) -> None:
    (nano / "DIGESTS").unlink()
    text = contracts.demo(7)
    act, reason = FORMS[form]
    act(nano)
    told = refused("nano", text, home, tmp_path).message
    assert told.startswith(f"base 'nano': {nano}: {reason}")
    assert told.endswith(f"; {FIX}")
    assert "\n" not in told


def test_a_folder_that_is_missing_or_something_else_is_told_with_its_kind(
    nano: Path, home: Home, tmp_path: Path
) -> None:
    text = contracts.demo(7)
    nano.rename(tmp_path / "elsewhere")
    places: dict[str, Damage] = {
        "it is missing": lambda place: None,
        "it is a link, no folder": lambda place: place.symlink_to(tmp_path / "elsewhere"),
        "it is a file, no folder": lambda place: place.touch(),
    }
    for kind, act in places.items():
        act(nano)
        told = f"base 'nano': {nano}: {kind}; {FIX}"
        assert refused("nano", text, home, tmp_path).message == told
        with pytest.raises(Finding, match=re.escape(told)):
            bases.find("nano", home)
        nano.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("number", "step"),
    [(errno.EACCES, "give yourself access to it"), (errno.EIO, "free or repair the disk")],
)
def test_a_file_that_cannot_be_read_is_told_by_its_path(
    nano: Path, home: Home, monkeypatch: pytest.MonkeyPatch, number: int, step: str
) -> None:
    def fails(folder: Path, shared: bool) -> Iterator[tuple[str, int]]:
        raise OSError(number, os.strerror(number), "config.json")

    monkeypatch.setattr(inspection, "plain_files", fails)
    told = f"base nano: {nano}/config.json: {os.strerror(number)}; {step}, then {FIX}"
    with pytest.raises(Broken, match=f"^{re.escape(told)}$"):
        bases.pin("nano", home)


def test_doctor_notes_a_damaged_base_beside_the_default_one(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path, monkeypatch, "sketch")
    (folder / "config.json").write_text("{}")
    health = doctor.examine(home, tmp_path / "runs")
    (check,) = (check for check in health.checks if check.name == "bases")
    assert check.state == "note"
    assert (
        f"sketch (of rsi-test-plugin) (damaged: base 'sketch': {folder}: config.json names no "
        "model_type; reinstall rsi-test-plugin, or restore the folder in its checkout)"
    ) in check.detail


PREPARED = "smollm2"
WRITES = f"""
import shutil
for name in {inspection.NEEDED!r}:
    shutil.copyfile({str(ROOT / "src/rsi_master/programs/nano/base")!r} + '/' + name, draft / name)
"""


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (
            lambda base: flip(base / "model.safetensors"),
            "model.safetensors is not as recorded in D",
        ),
        (lambda base: (base / "tokenizer.json").unlink(), "tokenizer.json is missing"),
        (lambda base: link(base / "tokenizer.json"), "tokenizer.json is a folder, link or special"),
        (lambda base: (base / "DIGESTS").unlink(), "DIGESTS is missing"),
    ],
)
def test_a_run_on_a_damaged_prepared_base_says_how_to_prepare_it_again(
    tmp_path: Path, home: Home, act: Damage, reason: str
) -> None:
    folder = bases.add(PREPARED, home, interpreter(tmp_path, WRITES)).folder
    text = contracts.fresh("mine", PREPARED)
    act(folder)
    told = refused(PREPARED, text, home, tmp_path).message
    assert told.startswith(f"base '{PREPARED}': {folder}: {reason}")
    assert told.endswith(f"; remove {folder} and run `rsi base add {PREPARED}` again")


def link(path: Path) -> None:
    """Put a link in the place of a file."""
    path.rename(path.parent.parent / "moved")
    path.symlink_to(path.parent.parent / "moved")


def test_a_prepared_base_that_was_recorded_but_cannot_be_used_is_refused(
    tmp_path: Path, home: Home
) -> None:
    folder = bases.add(PREPARED, home, interpreter(tmp_path, WRITES)).folder
    text = contracts.fresh("mine", PREPARED)
    (folder / "config.json").write_text("{}")
    files = inspection.files(folder)
    del files["DIGESTS"]
    (folder / "DIGESTS").write_bytes(inspection.record(files))
    told = refused(PREPARED, text, home, tmp_path).message
    assert f"config.json names no model_type; remove {folder} and run" in told


def test_a_base_of_another_version_still_differs(nano: Path, home: Home, tmp_path: Path) -> None:
    text = contracts.demo(7).replace("sha256:", "sha256:" + "0" * 64 + '" #', 1)
    with pytest.raises(Refused, match="take the base of the contract") as caught:
        start.create(text, "contract.toml", tmp_path / "runs", home)
    assert caught.value.code == "BASE_DIFFERS"


@pytest.mark.parametrize("target", [None, "nowhere", "/", "../kept"])
def test_strays_beside_the_bases_are_removed_and_never_followed(
    tmp_path: Path, home: Home, target: str | None
) -> None:
    (home.root / "kept").mkdir(parents=True)
    (home.root / "kept" / "file").touch()
    (home.root / "bases").mkdir()
    stray = home.root / "bases" / f"{bases.DRAFT}stray"
    if target is None:
        stray.touch()
    else:
        stray.symlink_to(target)
    assert bases.add(PREPARED, home, interpreter(tmp_path, WRITES)).new
    assert not os.path.lexists(stray)
    assert (home.root / "kept" / "file").exists()


def test_a_stray_that_cannot_be_removed_is_told_by_its_own_path(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(path: Path) -> None:
        raise OSError(errno.EACCES, "Permission denied", "inner")

    stray = home.root / "bases" / f"{bases.DRAFT}stray"
    stray.mkdir(parents=True)
    monkeypatch.setattr(shutil, "rmtree", fails)
    told = f"base {PREPARED}: {stray}: Permission denied; give yourself access to it, then run"
    with pytest.raises(Broken, match=told):
        bases.add(PREPARED, home, interpreter(tmp_path, WRITES))


@pytest.mark.parametrize("act", [Path.mkdir, lambda path: path.symlink_to("/etc/hostname")])
def test_what_stands_in_the_place_of_the_lock_is_told_by_its_path(
    tmp_path: Path, home: Home, act: Damage
) -> None:
    (home.root / "bases").mkdir(parents=True)
    lock = home.root / "bases" / bases.LOCK
    act(lock)
    again = f"remove it, then run `rsi base add {PREPARED}` again"
    with pytest.raises(Broken, match=f"base {PREPARED}: {lock}: .*; {again}"):
        bases.add(PREPARED, home, interpreter(tmp_path, WRITES))


def test_a_base_that_an_installer_links_from_its_cache_is_sound(
    tmp_path: Path, home: Home, nano: Path
) -> None:
    alone = bases.sound("nano", home)
    for file in sorted(nano.iterdir()):
        (tmp_path / f"cache-{file.name}").hardlink_to(file)
    assert bases.sound("nano", home) == alone
