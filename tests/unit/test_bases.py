"""Prepared bases: written once by a foreign program, whole or not at all, and as recorded."""

import json
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from rsi_master.app import bases
from rsi_master.app.home import Home
from rsi_master.core.errors import Broken, Finding, Misuse, Refused

NAME = "smollm2"
WRITES = """
(draft / "model.safetensors").write_bytes(b"weights")
(draft / "config.json").write_text("{}")
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def program(folder: Path, body: str) -> str:
    """An interpreter that takes the place of Python and runs `body` with the folder as `draft`."""
    script = folder / "python"
    head = f"#!{sys.executable} -I\nimport sys\nfrom pathlib import Path\n"
    script.write_text(f"{head}draft = Path(sys.argv[-1])\n{body}", encoding="utf-8")
    script.chmod(0o755)
    return str(script)


def left(home: Home) -> list[str]:
    folder = home.root / "bases"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_base_is_prepared_once_and_found_afterwards(tmp_path: Path, home: Home) -> None:
    first = bases.add(NAME, home, program(tmp_path, WRITES))
    assert first.new
    assert bases.find(NAME, home) == first.folder == home.root / "bases" / NAME
    again = bases.add(NAME, home, "/nonexistent/python")
    assert again == bases.Added(first.folder, first.digest, new=False)
    assert left(home) == [NAME]
    recorded = (first.folder / bases.DIGESTS).read_text(encoding="utf-8")
    assert [line.split()[1] for line in recorded.splitlines()] == [
        "config.json",
        "model.safetensors",
    ]


def test_a_program_that_refuses_is_heard_and_leaves_nothing(tmp_path: Path, home: Home) -> None:
    told = json.dumps({"code": "BASE_PACKAGE", "message": "pip install it"})
    body = (
        f"{WRITES}\nprint('noise', file=sys.stderr)\nprint({told!r}, file=sys.stderr)\nsys.exit(3)"
    )
    with pytest.raises(Refused, match="pip install it") as caught:
        bases.add(NAME, home, program(tmp_path, body))
    assert caught.value.code == "BASE_PACKAGE"
    assert left(home) == []


def test_a_program_that_crashes_leaves_nothing(tmp_path: Path, home: Home) -> None:
    with pytest.raises(Broken, match="ZeroDivisionError"):
        bases.add(NAME, home, program(tmp_path, f"{WRITES}\n1 / 0"))
    assert left(home) == []


def test_two_at_the_same_time_end_with_one_base(tmp_path: Path, home: Home) -> None:
    faster = bases.add(NAME, Home(tmp_path / "other"), program(tmp_path, WRITES)).folder
    body = f"{WRITES}\nimport shutil\nshutil.copytree({str(faster)!r}, draft.parent / {NAME!r})"
    added = bases.add(NAME, home, program(tmp_path, body))
    assert (added.folder / "model.safetensors").read_bytes() == b"weights"
    assert left(home) == [NAME]


@pytest.mark.parametrize("file", ["model.safetensors", "more.json", bases.DIGESTS])
def test_a_base_that_changed_is_a_finding_with_its_fix(
    tmp_path: Path, home: Home, file: str
) -> None:
    folder = bases.add(NAME, home, program(tmp_path, WRITES)).folder
    (folder / file).write_bytes(b"other")
    with pytest.raises(Finding, match=f"remove {folder} and run `rsi base add {NAME}` again"):
        bases.add(NAME, home)


def test_a_base_that_was_not_added_is_refused_with_the_command(home: Home) -> None:
    with pytest.raises(Refused, match="run `rsi base add smollm2` once"):
        bases.find(NAME, home)
    with pytest.raises(Refused, match="base 'none' is not installed"):
        bases.find("none", home)
    assert not home.root.exists(), "looking changes nothing"


def test_a_base_that_a_package_ships_is_not_added(home: Home) -> None:
    assert (bases.find("nano", home) / "config.json").is_file()
    with pytest.raises(Misuse, match="no base 'nano' can be added; there are: smollm2"):
        bases.add("nano", home)


def test_another_package_may_bring_a_prepared_base(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = [EntryPoint(name="mine", value="foreign.module", group=bases.PREPARED)]

    def found(group: str, name: str | None = None) -> list[EntryPoint]:
        return [point for point in points if group == point.group and name in (None, point.name)]

    monkeypatch.setattr(bases, "entry_points", found)
    body = f"{WRITES}\n(draft / 'called').write_text(' '.join(sys.argv[1:4]))"
    folder = bases.add("mine", home, program(tmp_path, body)).folder
    assert (folder / "called").read_text() == "-I -m foreign.module"
