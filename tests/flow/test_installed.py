"""The package as a wheel: all that a run needs is in it, and no clone has to be near."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from rsi_master.app.plugins import base_folder
from rsi_master.core.contract import parse
from rsi_master.testing.folders import digest_of

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "rsi_master"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a wheel's files."""
    pytest.importorskip("hatchling", reason="the builder is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def test_a_wheel_holds_every_file_of_the_package(unpacked: Path) -> None:
    wanted = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    there = {
        str(path.relative_to(unpacked / "rsi_master"))
        for path in (unpacked / "rsi_master").rglob("*")
        if path.is_file()
    }
    assert there == wanted
    assert digest_of(unpacked / "rsi_master/programs/nano/base") == digest_of(base_folder("nano"))


def test_it_starts_from_any_folder(unpacked: Path, tmp_path: Path) -> None:
    code = (
        "import rsi_master, sys\n"
        "from rsi_master.app import contracts\n"
        "from rsi_master.interfaces.cli import main\n"
        "sys.stderr.write(rsi_master.__file__)\n"
        "print(contracts.demo(3))\n"
        "sys.exit(main(['init', 'mine']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked), "RSI_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == str(unpacked / "rsi_master/__init__.py")
    assert parse(done.stdout.partition("wrote ")[0], "demo").seed == 3
    assert parse((tmp_path / "mine.toml").read_text("utf-8"), "mine").name == "mine"
