"""Confinement step by step, in forked children of the test."""

import errno
import os
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rsi_master
from rsi_master.core.warm import Cage, JobTier, Run
from rsi_master.programs.confinement import (
    ConfinementError,
    cover,
    covered_paths,
    interpreter,
    probe,
    python_paths,
    seccomp,
)
from rsi_master.programs.jobs import child

USER = 60_650 if os.getuid() == 0 else None


def order(folder: Path, program: str, tier: JobTier, user: int | None = USER) -> Run:
    entry = f"rsi_master.testing.programs:{program}"
    return Run(name="a.1", folder=str(folder), entry=entry, cage=Cage(tier=tier, user=user))


def reports(wanted: Run) -> list[child.Report]:
    """What a child that carries out the order says until nothing of it is left."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        child.run(wanted, theirs)
    theirs.close()
    with ours, ours.makefile("rb") as stream:
        found = [child.Report.model_validate_json(line) for line in stream]
    os.waitpid(pid, 0)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "jöb 1"
    (made / "in").mkdir(parents=True)
    (made / "job.json").write_text('{"config": {}}')
    return made


def test_the_probe_says_why_a_tier_does_not_hold() -> None:
    found = probe()
    assert [one.tier for one in found] == ["namespaces", "landlock", "none"]
    assert found[-1].held
    assert all(one.held or one.reason for one in found)


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_a_confinement_that_fails_keeps_the_program_from_running(
    folder: Path, tier: JobTier
) -> None:
    (folder / "in").rmdir()
    found = reports(order(folder, "echo", tier))
    assert found[0].state == "refused"
    assert "confinement step" in found[0].detail
    assert not (folder / "out" / "result.json").exists()


@pytest.mark.parametrize("tier", ["namespaces", "landlock"])
def test_what_cannot_be_covered_keeps_the_program_from_running(
    folder: Path, tier: JobTier, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Path(rsi_master.__file__).parent / "gone"
    monkeypatch.setattr(child, "covered_paths", lambda: (gone,))
    found = reports(order(folder, "echo", tier))
    assert found[0].state == "refused"
    assert f"{gone}' failed" in found[0].detail
    assert not (folder / "out" / "result.json").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_root_without_another_user_is_refused(folder: Path) -> None:
    found = reports(order(folder, "echo", "namespaces", user=None))
    assert "no user for a root process" in found[0].detail


def test_an_exit_code_of_the_program_is_no_refusal(folder: Path) -> None:
    found = reports(order(folder, "exit_three", "none"))
    assert [(one.state, one.code) for one in found] == [("entered", 0), ("exited", 3)]


@pytest.mark.parametrize("tier", ["namespaces", "landlock", "none"])
def test_no_descriptor_of_the_parent_is_left(folder: Path, tier: JobTier) -> None:
    if not next(one for one in probe() if one.tier == tier).held:
        pytest.skip(f"{tier} does not hold here")
    held = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    wanted = f'{{"secret": "/x/y", "port": 1, "owner": 1, "descriptor": {held}}}'
    (folder / "job.json").write_text(f'{{"config": {wanted}}}')
    found = reports(order(folder, "survey", tier))
    os.close(held)
    assert found[-1].code == 0
    assert '"descriptor": "refused"' in (folder / "out" / "result.json").read_text()


def test_an_error_names_step_call_and_reason() -> None:
    error = ConfinementError("bind /usr/lib", "mount", errno.EPERM)
    text = "confinement step 'bind /usr/lib' failed: mount: Operation not permitted"
    assert str(error) == text


def test_the_interpreter_is_readable_and_no_path_lies_in_another() -> None:
    paths = python_paths()
    library = Path(os.__file__).parent
    assert any(library.is_relative_to(path) for path in paths)
    assert any(Path(rsi_master.__file__).is_relative_to(path) for path in paths)
    assert not any(a != b and a.is_relative_to(b) for a in paths for b in paths)
    assert not {Path("/"), Path("/usr"), Path.home(), Path(sys.prefix)} & set(paths)


def test_what_jobs_must_not_import_is_covered() -> None:
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    contracts = {one["id"]: one for one in settings["tool"]["importlinter"]["contracts"]}
    top = Path(rsi_master.__file__).parent.parent
    forbidden = {top.joinpath(*name.split(".")) for name in contracts["jobs"]["forbidden_modules"]}
    assert set(covered_paths()) == forbidden


@pytest.mark.parametrize("place", ["", "site-packages", "python3/dist-packages"])
def test_another_installation_among_the_libraries_is_covered(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = covered_paths()
    copied = tmp_path / place / "rsi_master" / "programs" / "nano" / "generator"
    copied.mkdir(parents=True)
    (copied.parent / "questions").mkdir()
    paths = (*python_paths(), tmp_path)
    monkeypatch.setattr(interpreter, "python_paths", lambda: paths)
    assert covered_paths() == (*here, copied.resolve())


def test_a_warm_parent_with_covered_modules_in_memory_does_not_start() -> None:
    module = "rsi_master.programs.sealed"
    code = f"from rsi_master.programs.jobs import warm; warm._preload(['{module}'])"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{module} into the memory of jobs" in done.stderr


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A library `lib` with a package `p`, of which `p.inner.closed` is to be covered."""
    made = tmp_path / "lib"
    (made / "p" / "inner" / "closed").mkdir(parents=True)
    (made / "p" / "inner" / "open").mkdir()
    for name in ("other.py", "p/one.py", "p/inner/closed/secret.py"):
        (made / name).touch()
    return made


def test_around_a_covered_folder_its_siblings_are_left(library: Path) -> None:
    (library / "p" / "leads-out").symlink_to(library.parent)
    left = cover.remainder(library, [library / "p" / "inner" / "closed"])
    assert [str(path.relative_to(library)) for path in left] == [
        "other.py",
        "p/inner/open",
        "p/one.py",
    ]


def test_a_path_without_a_covered_folder_is_left_whole(library: Path) -> None:
    closed = library / "p" / "inner" / "closed"
    assert cover.remainder(library / "p" / "one.py", [closed]) == (library / "p" / "one.py",)
    assert cover.remainder(closed, [closed]) == ()


def test_a_folder_is_covered_under_every_name_of_it(library: Path) -> None:
    alias, closed = library.parent / "lib64", Path("p", "inner", "closed")
    alias.symlink_to("lib")
    assert cover.places(alias, [library / closed]) == (alias / closed,)
    assert cover.places(library, [alias / closed]) == (library / closed,)
    assert alias / "p" / "one.py" in cover.remainder(alias, [library / closed])


def test_a_grant_inside_a_covered_folder_is_refused(library: Path) -> None:
    closed = library / "p" / "inner" / "closed"
    with pytest.raises(ConfinementError, match="inside it"):
        cover.places(closed / "secret.py", [closed])


@pytest.mark.parametrize("isolated", [True, False])
def test_the_filter_takes_away_sockets_and_namespaces(isolated: bool) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        seccomp.restrict(in_pid_namespace=isolated)
        answers = [
            _errno_of(lambda: socket.socket(socket.AF_INET)),
            _errno_of(lambda: socket.socket(socket.AF_UNIX)),
            _errno_of(socket.socketpair),
            _errno_of(lambda: os.kill(os.getpid(), 0)),
            _errno_of(os.setsid),
            _errno_of(lambda: os.chroot("/")),
        ]
        os.write(writer, repr(answers).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    unix, session = (0, 0) if isolated else (errno.EACCES, errno.EPERM)
    assert said == repr([errno.EACCES, unix, 0, 0, session, errno.EPERM])


def _errno_of(attempt: object) -> int:
    assert callable(attempt)
    try:
        attempt()
    except OSError as error:
        return error.errno or 0
    return 0
