from pathlib import Path

import typer

from rsi_master.interfaces.cli import app

ROOT = Path(__file__).parents[2]


def test_every_command_and_option_says_what_it_does() -> None:
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        assert command.help, name
        for parameter in command.params:
            assert parameter.help or parameter.name == "help", f"{name} {parameter.name}"


def test_the_readme_names_only_commands_that_exist() -> None:
    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = {word.split()[0] for word in text.split("`rsi ")[1:] if word.split()}
    assert {name.strip("`.,;:") for name in named} <= known
