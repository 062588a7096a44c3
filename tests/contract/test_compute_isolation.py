"""What a job under the confining tiers of the local engine cannot do, as root and as a user."""

import json
import os
import py_compile
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rsi_master
from rsi_master.adapters.sandbox.isolation import probe
from rsi_master.core.warm import JobTier
from rsi_master.programs.confinement import covered_paths
from rsi_master.testing.bench import Bench, processes_of, until_gone

HELD = {one.tier: one for one in probe()}
CONFINING: tuple[JobTier, ...] = ("namespaces", "landlock")
# What `pry` tries. Landlock does not hold names: a right to list a folder holds for all below it.
CONTENTS = {
    "generator source",
    "generator bytecode",
    "sealed source",
    "sealed bytecode",
    "nano.generator.problem",
    "sealed.protocol",
}
NAMES = {"generator names", "sealed names"}
BESIDE = {"nano.verifiers"}

PACKAGE = Path(rsi_master.__file__).parent
NOBODY = 65_534

# An owner of its own: engine, one job, one line about it, then the wait to be killed.
OWNER = """
import json, os, sys, time
from pathlib import Path
from rsi_master.testing.bench import Bench
bench = Bench(sys.argv[2], Path(sys.argv[1]))
secret = bench.base / "secret.txt"
secret.write_text("secret")
config = {"secret": str(secret), "port": 1, "owner": os.getpid(), "descriptor": 99}
job = bench.job(sys.argv[3], config)
bench.engine.submit(job)
if sys.argv[3] in ("survey", "pry"):
    status = bench.until_ended(job.name)
    print(json.dumps([status.tier, status.ending, bench.result(job)["outcome"]]), flush=True)
    bench.engine.close()
else:
    bench.until_beating(job.name)
    print(bench.engine.poll(job.name).state, flush=True)
    time.sleep(60)
"""


def skip_unless_held(tier: JobTier) -> None:
    found = HELD[tier]
    if not found.held:
        pytest.skip(f"{tier} does not hold here: {found.reason}")


@pytest.fixture(scope="module", params=CONFINING)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    skip_unless_held(request.param)
    made = Bench(request.param, tmp_path_factory.mktemp("confining"))
    yield made
    made.engine.close()


def given(outcome: dict[str, str]) -> set[str]:
    """What was possible of all that was tried."""
    return {name for name, found in outcome.items() if found == "possible"}


def runs_as_nobody(python: str) -> bool:
    same = f"import sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    command = [python, "-I", "-c", same]
    try:
        done = subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], env={})
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.fixture(scope="module")
def ordinary_python() -> Iterator[str]:
    """An interpreter that an ordinary user can reach: this one's packages, and ours installed."""
    if os.getuid() != 0:
        pytest.skip("the other tests run as an ordinary user already")
    version = f"python3.{sys.version_info[1]}"
    places = (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}")
    base = next((one for one in places if Path(one).exists() and runs_as_nobody(one)), None)
    if base is None:
        pytest.skip(f"no {version} that user {NOBODY} can run")
    folder = Path(tempfile.mkdtemp(prefix="rsi-ordinary-"))
    folder.chmod(0o755)
    subprocess.run([base, "-m", "venv", "--without-pip", folder / "env"], check=True)
    packages = folder / "env" / "lib" / version / "site-packages"
    (packages / "shared.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    shutil.copytree(PACKAGE, packages / PACKAGE.name, ignore=shutil.ignore_patterns("*.pyc.*"))
    yield str(folder / "env" / "bin" / "python")
    shutil.rmtree(folder)


def test_a_confined_job_reaches_nothing_outside(bench: Bench) -> None:
    secret = bench.base / "secret.txt"
    secret.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        config = {"secret": str(secret), "port": port, "owner": os.getpid(), "descriptor": 99}
        job = bench.job("survey", config)
        status = bench.end(job)
    assert (status.ending, status.detail, status.tier) == ("ok", "", bench.tier)
    found = bench.result(job)
    assert found["outcome"] == dict.fromkeys(found["outcome"], "refused")
    assert secret.read_text() == "secret"
    assert found["no_new_privs"] == "1"
    assert found["uid"] != 0


@pytest.fixture(scope="module")
def bytecode() -> None:
    """Compiled files beside the covered sources."""
    for folder in covered_paths():
        py_compile.compile(str(folder / "__init__.py"), doraise=True)


@pytest.mark.usefixtures("bytecode")
def test_a_confined_job_has_nothing_of_what_writes_and_grades_sealed_items(bench: Bench) -> None:
    job = bench.job("pry")
    status = bench.end(job)
    assert (status.ending, status.detail, status.tier) == ("ok", "", bench.tier)
    found = bench.result(job)
    assert set(found["outcome"]) == CONTENTS | NAMES | BESIDE
    assert given(found["outcome"]) == (BESIDE if bench.tier == "namespaces" else BESIDE | NAMES)
    assert found["loaded"] == []


@pytest.mark.usefixtures("bytecode")
def test_without_confinement_a_job_has_all_of_it(tmp_path: Path) -> None:
    bench = Bench("none", tmp_path)
    job = bench.job("pry")
    assert bench.end(job).ending == "ok"
    assert given(bench.result(job)["outcome"]) == CONTENTS | NAMES | BESIDE
    bench.engine.close()


def test_ceilings_of_memory_and_file_size_hold(bench: Bench) -> None:
    for program, size in (("raise_memory", 256 << 20), ("big_file", 16 << 30)):
        job = bench.job(program, {"bytes": size}, memory_mib=64)
        assert bench.end(job).ending == "ok"
        assert bench.result(job) == {"refused": True}


def test_children_of_a_job_die_with_it(bench: Bench) -> None:
    bench.end(bench.job("exit_three"))
    before = processes_of(os.getpid())
    job = bench.job("fork_and_hang")
    bench.engine.submit(job)
    bench.until_beating(job.name)
    assert len(processes_of(os.getpid()) - before) == 3
    bench.engine.cancel(job.name)
    bench.until_ended(job.name)
    assert processes_of(os.getpid()) == before


@pytest.mark.parametrize("tier", CONFINING)
def test_nothing_outlives_a_killed_owner(tmp_path: Path, tier: JobTier) -> None:
    skip_unless_held(tier)
    command = [sys.executable, "-c", OWNER, str(tmp_path), tier, "fork_and_hang"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "running\n"
        assert len(processes_of(owner.pid)) == 4
        owner.kill()
        owner.wait(10)
        assert until_gone(owner.pid) == set()


def ordinary(python: str, tier: JobTier, program: str) -> Any:
    """Tier, ending and outcome of one job of an owner that is an ordinary user."""
    with tempfile.TemporaryDirectory() as base:
        os.chown(base, NOBODY, NOBODY)
        done = subprocess.run(
            [python, "-c", OWNER, base, tier, program],
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env={},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("tier", CONFINING)
def test_an_ordinary_user_gets_the_same(ordinary_python: str, tier: JobTier) -> None:
    held, ending, outcome = ordinary(ordinary_python, tier, "survey")
    assert (held, ending, given(outcome)) == (tier, "ok", set())


@pytest.mark.parametrize("tier", CONFINING)
def test_an_installed_package_is_covered_too(ordinary_python: str, tier: JobTier) -> None:
    held, ending, outcome = ordinary(ordinary_python, tier, "pry")
    assert (held, ending) == (tier, "ok")
    assert set(outcome) == CONTENTS | NAMES | BESIDE
    assert given(outcome) == (BESIDE if tier == "namespaces" else BESIDE | NAMES)
