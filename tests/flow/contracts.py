"""Contracts of the flow tests."""

from pathlib import Path

from rsi_master.app import start
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.plugins import base_folder
from rsi_master.testing.folders import digest_of


def sketch(name: str = "sketch") -> str:
    """A contract on the test recipe and benchmark; a whole run takes seconds."""
    return f"""
name = "{name}"
target = "reverse words and add numbers"

[base]
name = "sketch"
digest = "{digest_of(base_folder("sketch"))}"

[evaluator]
benchmark = "sketch"
dev = 60
confirm = 80
holdout = 100

[budget]
device_seconds = 2000
wall_seconds = 3600
evaluations = 80
experiments = 12

[policy]
recipes = ["sketch"]
sources = ["sketch/clean", "sketch/scraped", "sketch/prompts", "sketch/pairs"]
attempts_per_experiment = 10
"""


def created(tmp_path: Path, text: str) -> tuple[RunFolder, Home]:
    """A fresh run folder, with its own installation."""
    home = Home(tmp_path / "home")
    return start.create(text, "contract", tmp_path / "runs", home), home
