"""Asking a base and a checkpoint of a run the same prompts: by a process, which loads both."""

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from rsi_master.adapters.sealed.link import ENVIRONMENT
from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.app.reader import Record
from rsi_master.core.errors import Broken, Finding, Misuse, Refused, RsiError, SealUnavailable
from rsi_master.core.experiment import Experiment

PROGRAM: Final = "rsi_master.programs.trial"
SECONDS: Final = 600.0
_ERRORS: Final[dict[int, type[RsiError]]] = {
    kind.exit_code: kind for kind in (Finding, Misuse, Refused, SealUnavailable, Broken)
}
_CHARACTERS: Final = 300


@dataclass(frozen=True)
class Answers:
    """What both said to a prompt, or why they were not asked."""

    prompt: str
    base: str = ""
    checkpoint: str = ""
    problem: str | None = None


class Trial:
    """A started program that has both models loaded."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self._process = process
        self._errors = errors
        self._receive()

    def ask(self, prompt: str) -> Answers:
        """Both answers; raises Broken when the program gives none."""
        text = prompt.encode("utf-8", "replace").decode()
        if text != prompt:
            return Answers(text, problem="the prompt is no Unicode text")
        stream = cast(IO[bytes], self._process.stdin)
        try:
            stream.write(json.dumps(prompt).encode() + b"\n")
            stream.flush()
        except OSError as cause:
            raise self._failure() from cause
        return Answers(prompt, **self._receive())

    def _receive(self) -> dict[str, str]:
        """The next line of the program, without its greeting."""
        stream = cast(IO[bytes], self._process.stdout)
        if not select.select([stream], [], [], SECONDS)[0]:
            raise Broken("TRIAL_TIMEOUT", f"no answer in {SECONDS:g} s; ask for fewer --tokens")
        line = stream.readline()
        if not line:
            raise self._failure()
        said: dict[str, str] = json.loads(line)
        said.pop("ready", None)
        return said

    def _failure(self) -> RsiError:
        """The program's reason if its last line is one, else how it ended."""
        status = self._process.wait(SECONDS)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines() or [""]
        try:
            told = json.loads(lines[-1])
            return _ERRORS.get(status, Broken)(str(told["code"]), str(told["message"]))
        except (ValueError, KeyError, TypeError):
            said = lines[-1][:_CHARACTERS] or "it said nothing"
            return Broken("TRIAL_FAILED", f"the program that answers ended with {status}: {said}")


@contextmanager
def opened(record: Record, experiment: Experiment, tokens: int) -> Iterator[Trial]:
    """Base and checkpoint laid into a temporary folder and loaded; all of it ends with the block.

    Raises Finding where bytes are missing or not true to their digest, Refused without a training
    stack or a language model, Misuse for an experiment without a checkpoint.
    """
    checkpoint = _digest(experiment)
    base = record.state.opened
    if base is None:
        raise Misuse("NOT_STARTED", f"run {record.folder.id} has no events yet; `rsi resume` it")
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rsi-try-")))
        _lay(record, "the base", base.base.digest, place / "base")
        _lay(record, f"the checkpoint of {experiment.id}", checkpoint, place / "checkpoint")
        errors = stack.enter_context(tempfile.TemporaryFile())
        process = stack.enter_context(_started(place, tokens, errors))
        yield Trial(process, errors)


def _digest(experiment: Experiment) -> str:
    if experiment.checkpoint is None:
        raise Misuse(
            "NO_CHECKPOINT",
            f"experiment {experiment.id} has no checkpoint ({experiment.lifecycle}); name another, "
            "`rsi graph` lists them",
        )
    return experiment.checkpoint.artifact.digest


def _lay(record: Record, what: str, digest: str, target: Path) -> None:
    try:
        FolderObjects(record.folder.objects).materialise(digest, target)
    except Finding as problem:
        raise Finding(
            problem.code,
            f"{what}: {problem.message}; take a whole copy of the run, `rsi verify` checks one",
        ) from problem


@contextmanager
def _started(place: Path, tokens: int, errors: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The program, which ends with the block."""
    command = [sys.executable, "-I", "-m", PROGRAM, "--tokens", str(tokens)]
    folders = ["--base", str(place / "base"), "--checkpoint", str(place / "checkpoint")]
    process = subprocess.Popen(
        [*command, *folders],
        env=ENVIRONMENT,
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
    )
    try:
        yield process
    finally:
        process.kill()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):  # a prompt that it did not read any more
                cast(IO[bytes], stream).close()
        process.wait()
