"""Options and arguments that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

RunsFolder = Annotated[Path, typer.Option("--runs", help="The folder that holds the run folders.")]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN", help="A run folder or a part of its id; $RSI_RUN or else the newest."
    ),
]
RunOption = Annotated[
    str | None, typer.Option("--run", help="A run folder or a part of its id, else the newest.")
]
Json = Annotated[bool, typer.Option("--json", help="JSON for programs.")]
