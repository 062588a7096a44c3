"""What an engine checks before it takes a job, and the folder that it lays out for it.

spool/<name>/job.json    the job, as submitted
             in/         its inputs, read-only, by name
             out/        all that it may write
             judge/      a folder of the same kind for its judge, if it has one
"""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from rsi_master.core.errors import Broken, Misuse, Refused
from rsi_master.core.job import Input, Job, Program
from rsi_master.core.ports import ObjectStore

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_name(name: str) -> None:
    """Misuse unless the name can stand as one part of a path."""
    if not _NAME.fullmatch(name):
        text = f"{name!r} cannot name a job or an input; use letters, digits, '.', '_' and '-'"
        raise Misuse("JOB_NAME", text)


def admit(job: Job, programs: Mapping[str, Program]) -> Program:
    """The job's program, or Misuse or Refused for what an engine on one machine cannot run."""
    for name in (job.name, *(one.name for one in job.inputs)):
        check_name(name)
    if job.resources.nodes != 1 or job.resources.devices < 1:
        asked = f"{job.resources.nodes} nodes and {job.resources.devices} devices"
        raise Misuse("JOB_RESOURCES", f"job {job.name} asks {asked}; one node, a device or more")
    program = programs.get(job.program)
    if program is None:
        known = ", ".join(sorted(programs))
        text = f"job {job.name}: program {job.program!r} is not known; known are {known}"
        raise Misuse("JOB_PROGRAM", text)
    if program.job_class != job.job_class:
        text = f"job {job.name} of class '{job.job_class}': {job.program} is '{program.job_class}'"
        raise Refused("JOB_CLASS", text)
    return program


def lay_out(folder: Path, job: Job, objects: ObjectStore) -> None:
    """Make the job's folder; after an error it does not exist. Broken when it exists already."""
    try:
        folder.mkdir()
    except OSError as error:
        text = f"spool folder {folder.name}: {error.strerror}; if it is left from an earlier owner"
        raise Broken("SPOOL", f"{text}, submit the job under its next fence") from error
    try:
        _fill(folder, job, objects)
    except BaseException:
        shutil.rmtree(folder)
        raise


def _fill(folder: Path, job: Job, objects: ObjectStore) -> None:
    """Write what the job reads, open to the user that it becomes whatever the umask is."""
    if job.judge is not None:
        program = Input(name="program.json", digest=job.judge)
        judge = job.model_copy(update={"inputs": (program,), "judge": None, "config": {}})
        (folder / "judge").mkdir()
        _fill(folder / "judge", judge, objects)
    for name in ("in", "out"):
        (folder / name).mkdir()
    (folder / "job.json").write_text(job.model_dump_json())
    for one in job.inputs:
        objects.materialise(one.digest, folder / "in" / one.name)
    folder.chmod(0o755)
    (folder / "job.json").chmod(0o644)
    for path in ((folder / "in"), *(folder / "in").rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
