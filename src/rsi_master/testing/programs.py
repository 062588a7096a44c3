"""Tiny job programs for tests: each does one thing that a job can do, well or badly.

Each takes the job's folder. `finish` writes what an engine expects of a job that went well. An
`interpreter` is a foreign program that is no job.
"""

import importlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import cache_from_source
from pathlib import Path

from rsi_master.core.warm import JUDGE_DESCRIPTOR
from rsi_master.programs.confinement import covered_modules, covered_paths

_FOREVER_SECONDS = 60.0


def finish(folder: Path, **values: object) -> None:
    """Leave `out/result.json`."""
    (folder / "out" / "result.json").write_text(json.dumps(values))


def config(folder: Path) -> dict[str, object]:
    """The configuration of the job."""
    job: dict[str, dict[str, object]] = json.loads((folder / "job.json").read_text())
    return job["config"]


def echo(folder: Path) -> None:
    """Copy the inputs' texts and the configuration into the result."""
    inputs = {path.name: path.read_text() for path in sorted((folder / "in").iterdir())}
    finish(folder, inputs=inputs, config=config(folder))


def exit_three(_: Path) -> None:
    """End with exit code 3."""
    sys.exit(3)


def fail(folder: Path) -> None:
    """Raise."""
    raise ValueError(f"a failure on purpose in {folder.name}")


def no_result(folder: Path) -> None:
    """End well but leave no result."""
    (folder / "out" / "other.txt").write_text("nothing")


def beat(folder: Path) -> None:
    """Show signs of life for longer than any test lasts."""
    end = time.monotonic() + _FOREVER_SECONDS
    while time.monotonic() < end:
        with (folder / "out" / "metrics.jsonl").open("a") as metrics:
            metrics.write("{}\n")
        time.sleep(0.02)


def hang(_: Path) -> None:
    """Stay silent for longer than any test lasts."""
    time.sleep(_FOREVER_SECONDS)


def fork_and_hang(folder: Path) -> None:
    """Start a child that tries to leave the process group, and hang."""
    if os.fork() == 0:
        try:
            os.setsid()
        except OSError:
            print("setsid refused")
    beat(folder)


def leave_link(folder: Path) -> None:
    """Leave a link to a file outside among the outputs."""
    (folder / "out" / "passwords").symlink_to("/etc/passwd")
    finish(folder)


def survey(folder: Path) -> None:
    """Try what a confined job must not be able to do; the result says what happened."""
    wanted = config(folder)
    secret = Path(str(wanted["secret"]))
    attempts: dict[str, Callable[[], object]] = {
        "read": secret.read_text,
        "write": lambda: secret.write_text("changed"),
        "list": lambda: os.listdir(secret.parent),
        "inet": lambda: socket.create_connection(("127.0.0.1", int(str(wanted["port"]))), 1),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "owner": lambda: os.kill(int(str(wanted["owner"])), 0),
        "own_input": lambda: (folder / "job.json").write_text("changed"),
        "descriptor": lambda: os.listdir(int(str(wanted["descriptor"]))),
    }
    status = Path("/proc/self/status").read_text().split()
    finish(
        folder,
        outcome={name: _outcome(attempt) for name, attempt in attempts.items()},
        environment=dict(os.environ),
        at_exec=Path("/proc/self/environ").read_text(),
        no_new_privs=status[status.index("NoNewPrivs:") + 1],
        uid=os.getuid(),
    )


def _outcome(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except (OSError, ImportError):
        return "refused"
    return "possible"


def pry(folder: Path) -> None:
    """Try to get at what is covered in a job, and at a module beside it that a job needs."""
    loaded = covered_modules()
    outcome: dict[str, str] = {}
    for covered in covered_paths():
        source = covered / "__init__.py"
        attempts: dict[str, Callable[[], object]] = {
            "source": source.read_bytes,
            "bytecode": Path(cache_from_source(str(source))).read_bytes,
            "names": partial(os.listdir, covered),
        }
        for name, attempt in attempts.items():
            outcome[f"{covered.name} {name}"] = _outcome(attempt)
    for module in ("nano.generator.problem", "sealed.protocol", "nano.verifiers"):
        name = f"rsi_master.programs.{module}"
        outcome[module] = _outcome(partial(importlib.import_module, name))
    finish(folder, loaded=loaded, outcome=outcome)


def ask(folder: Path) -> None:
    """Put the configured answers to the judge beside this job; its words are the result."""
    asked = config(folder)["answers"]
    said = []
    with socket.socket(fileno=JUDGE_DESCRIPTOR) as line, line.makefile("rb") as replies:
        for answer in asked if isinstance(asked, list) else ():
            episode = {"prompt": "p", "answer": answer, "known": None}
            try:
                line.sendall(json.dumps(episode).encode() + b"\n")
                said.append(replies.readline().decode())
            except OSError as gone:
                said.append(type(gone).__name__)
    finish(folder, said=said)


def big_file(folder: Path) -> None:
    """Write a file of the configured size, sparsely."""
    try:
        with (folder / "out" / "big").open("wb") as file:
            file.truncate(int(str(config(folder)["bytes"])))
    except OSError:
        finish(folder, refused=True)


def raise_memory(folder: Path) -> None:
    """Ask for more memory than the configuration's ceiling allows."""
    try:
        bytearray(int(str(config(folder)["bytes"])))
    except MemoryError:
        finish(folder, refused=True)


def stamp(folder: Path) -> None:
    """Leave the monotonic time at which the program was entered."""
    finish(folder, at=time.monotonic())


def interpreter(folder: Path, body: str) -> str:
    """A file that takes the place of Python and runs `body`, its last argument as path `draft`."""
    script = folder / "python"
    head = f"#!{sys.executable} -I\nimport json, os, sys, time\nfrom pathlib import Path\n"
    script.write_text(f"{head}draft = Path(sys.argv[-1])\n{body}", encoding="utf-8")
    script.chmod(0o755)
    return str(script)
