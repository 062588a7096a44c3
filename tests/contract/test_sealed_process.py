"""What only a process can do: die, hang, be confined, outlive nobody."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rsi_master.adapters.sealed import client
from rsi_master.adapters.sealed.client import Patience, SealedProcess
from rsi_master.adapters.sealed.sealing import Items, seal, survey
from rsi_master.core.artifact import Problem, Row
from rsi_master.core.errors import Misuse, Refused, SealUnavailable
from rsi_master.core.probe import Window
from rsi_master.core.score import Drawn, EvaluationResult
from rsi_master.core.sealed_wire import FRAME_LIMIT
from rsi_master.programs.nano.weights import base_folder
from rsi_master.programs.sealed.hardening import SEALED_UID
from rsi_master.testing.sketch import write_checkpoint

OWNER = """
import sys, time
from pathlib import Path
from rsi_master.adapters.sealed.client import SealedProcess
sealed = SealedProcess(Path(sys.argv[1]), Path(sys.argv[2]))
sealed.evaluate("e1#1", Path(sys.argv[2]), ("dev",))
print(sealed.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("weights") / "base", 0.3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, base: Path) -> Path:
    home = tmp_path_factory.mktemp("ein Häuschen mit Platz")
    return seal("sketch", base, home, {"dev": 20, "confirm": 20, "holdout": 20})


@pytest.fixture
def sealed(folder: Path, base: Path) -> Iterator[SealedProcess]:
    with SealedProcess(folder, base) as process:
        yield process


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def capabilities_of(pid: int | None) -> set[str]:
    """Effective capabilities over all threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {status_of(int(task.name))["CapEff"] for task in tasks}


def open_files(pid: int | None) -> set[str]:
    """Where its descriptors lead; those that are closed meanwhile are left out."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(str(link.readlink()))
    return found


def gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not Path(f"/proc/{pid}").exists() or status_of(pid)["State"].startswith("Z"):
            return True
        time.sleep(0.02)
    return False


def freeze(pid: int | None) -> None:
    """Stop the process and wait until each of its threads has stopped."""
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    tasks = [Path(folder) / "status" for folder in Path(f"/proc/{pid}/task").iterdir()]
    while not all("State:\tT" in task.read_text() for task in tasks):
        time.sleep(0.01)


def test_a_killed_process_is_unavailable_until_it_is_restarted(
    sealed: SealedProcess, base: Path
) -> None:
    before = sealed.evaluate("e1#1", base, ("dev",))
    assert sealed.pid is not None
    os.kill(sealed.pid, signal.SIGKILL)
    with pytest.raises(SealUnavailable, match=r"exit status -9|no sealed process"):
        sealed.evaluate("e1#2", base, ("dev",))
    assert sealed.pid is None
    with pytest.raises(SealUnavailable, match="restart"):
        sealed.open()
    sealed.restart()
    assert sealed.evaluate("e1#3", base, ("dev",)).scores == before.scores


def test_a_silent_process_is_given_up_and_leaves_no_late_answer(folder: Path, base: Path) -> None:
    with SealedProcess(folder, base, patience=Patience(rows=0.3)) as sealed:
        sealed.evaluate("e1#1", base, ("dev",))
        freeze(sealed.pid)
        with pytest.raises(SealUnavailable) as silent:
            sealed.open()
        assert silent.value.code == "SEALED_TIMEOUT"
        assert sealed.pid is None
        sealed.restart()
        assert sealed.open().benchmark == "sketch"


def test_much_text_is_scanned_in_pieces_as_if_it_were_one(
    sealed: SealedProcess, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = json.loads((folder / "items.dev.jsonl").read_text().splitlines()[0])["prompt"]
    rows = [Row(prompt=f"Q{at % 7}", completion="x" * at) for at in range(1, 40)]
    rows = [*rows, Row(prompt=asked, completion="a"), *rows[::2], Row(prompt="", completion="b")]
    whole = sealed.scan(rows)
    assert whole.dropped == {"SEALED_PROMPT": 1, "DUPLICATE": 20, "EMPTY_PROMPT": 1}
    monkeypatch.setattr(client, "SCAN_CHARS", 50)
    assert sealed.scan(rows) == whole
    assert sealed.scan([]).kept == ()


def test_a_process_that_dies_while_a_checkpoint_answers_is_unavailable(
    tmp_path: Path, base: Path
) -> None:
    folder = seal("sketch", base, tmp_path, {"dev": 2, "practice": 4})
    with SealedProcess(folder, base) as sealed:
        before = sealed.probe("p#1", base, Window())
        freeze(sealed.pid)
        with pytest.raises(SealUnavailable) as silent:
            sealed.probe("p#2", base, Window(), 0.3)
        assert silent.value.code == "SEALED_TIMEOUT"
        assert sealed.pid is None
        sealed.restart()
        assert sealed.probe("p#3", base, Window()).answers == before.answers


def test_a_process_that_cannot_serve_is_gone_until_it_is_restarted(
    tmp_path: Path, base: Path
) -> None:
    folder = seal("sketch", base, tmp_path, {"dev": 2, "confirm": 2, "holdout": 2})
    with SealedProcess(folder, base) as sealed:
        assert sealed.open().openings == 1
        (folder / "openings.jsonl").write_bytes(b"nonsense\n")
        with pytest.raises(SealUnavailable) as damaged:
            sealed.claim("run/claim-1", base, base)
        assert damaged.value.code == "SEAL_DAMAGED"
        assert sealed.pid is None
        (folder / "openings.jsonl").write_bytes(b"")
        sealed.restart()
        assert sealed.claim("run/claim-1", base, base).difference is not None


def test_closing_ends_a_request_under_way(folder: Path, base: Path) -> None:
    sealed = SealedProcess(folder, base)
    sealed.evaluate("e1#1", base, ("dev",))
    freeze(sealed.pid)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(sealed.evaluate, "e1#2", base, ("dev",))
        while not waiting.running():
            time.sleep(0.01)
        sealed.close()
        with pytest.raises(SealUnavailable):
            waiting.result(5.0)


def test_rows_do_not_wait_for_an_evaluation(base: Path, tmp_path: Path) -> None:
    folder = seal("sketch", base, tmp_path, {"dev": 1, "holdout": 4_000})
    with SealedProcess(folder, base) as sealed, ThreadPoolExecutor(1) as pool:
        sealed.evaluate("e1#1", base, ("dev",))
        claim = pool.submit(sealed.claim, "run/claim-1", base, base)
        while not (folder / "openings.jsonl").stat().st_size:
            time.sleep(0.001)
        assert sealed.scan([Row(prompt="p", completion="c")]).kept == (0,)
        assert not claim.done()
        assert claim.result(60).champion.counts["error"] == 0


def test_a_restart_by_a_thread_that_ends_does_not_end_the_process(
    sealed: SealedProcess, base: Path
) -> None:
    thread = threading.Thread(target=sealed.restart)
    thread.start()
    thread.join()
    assert sealed.evaluate("e1#1", base, ("dev",)).scores


def test_threads_take_turns(sealed: SealedProcess, tmp_path: Path) -> None:
    skills = (0.1, 0.5, 0.9)
    results: dict[float, EvaluationResult] = {}

    def evaluate(skill: float) -> None:
        checkpoint = write_checkpoint(tmp_path / str(skill), skill)
        results[skill] = sealed.evaluate("e1#1", checkpoint, ("dev",))

    threads = [threading.Thread(target=evaluate, args=(skill,)) for skill in skills]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    right = [results[skill].scores[0].counts["right"] for skill in skills]
    assert right == sorted(set(right))


def test_a_message_over_the_limit_is_refused_and_the_process_lives(sealed: SealedProcess) -> None:
    row = Row(prompt="p", completion="x" * FRAME_LIMIT)
    with pytest.raises(Misuse) as refused:
        sealed.scan([row])
    assert refused.value.code == "FRAME_TOO_LARGE"
    assert sealed.open()


def test_the_process_has_no_root_no_environment_and_no_item_file_open(
    sealed: SealedProcess, folder: Path, base: Path
) -> None:
    sealed.evaluate("e1#1", base, ("dev",))
    status = status_of(sealed.pid or 0)
    if os.geteuid() == 0:
        assert set(status["Uid"].split()) == set(status["Gid"].split()) == {str(SEALED_UID)}
        assert status["Groups"] == ""
        inside = {name for name in open_files(sealed.pid) if name.startswith(str(folder))}
        assert inside == {str(folder / "openings.jsonl"), str(folder / "serve.log")}
        environment = Path(f"/proc/{sealed.pid}/environ").read_text()
        assert "PATH=" not in environment
    assert status["NoNewPrivs"] == "1"
    assert capabilities_of(sealed.pid) == {"0000000000000000"}


def test_the_set_is_open_to_its_owner_only(folder: Path) -> None:
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert not list(folder.parent.glob(".draft-*"))


def test_no_process_outlives_its_owner(folder: Path, base: Path) -> None:
    command = [sys.executable, "-c", OWNER, str(folder), str(base)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert not gone(pid, 0.1)
        owner.kill()
        assert gone(pid, 5.0)


def test_a_damaged_set_is_refused_by_name(folder: Path, base: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    lines = (copy / "items.dev.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "items.dev.jsonl").write_bytes(b"".join(lines[:-1]))
    with SealedProcess(copy, base) as sealed, pytest.raises(SealUnavailable) as damaged:
        sealed.open()
    assert damaged.value.code == "SEAL_DAMAGED"


def test_sealing_an_unknown_benchmark_says_which_there_are(base: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"'gpqa' is not installed; there are: .*sketch"):
        seal("gpqa", base, tmp_path, {"dev": 1})


def test_nano_is_sealed_served_and_scored_by_its_own_base(tmp_path: Path) -> None:
    base = base_folder()
    folder = seal("nano", base, tmp_path, {"dev": 8, "confirm": 8, "holdout": 8, "practice": 2})
    with SealedProcess(folder, base) as sealed:
        assert sealed.open().sizes["dev"] == 56
        result = sealed.evaluate("base#1", base, ("dev",))
        assert result.weights == sealed.open().base
        assert result.items == sealed.evaluate("base#2", base, ("dev",)).items
        assert result.scores[0].counts["error"] == 0
        assert capabilities_of(sealed.pid) == {"0000000000000000"}
        report = sealed.scan(sealed.pool("nano/scraped"))
        assert set(report.dropped) <= {"SEALED_PROMPT", "SEALED_ANSWER"}
        assert report.dropped["SEALED_PROMPT"] >= 112
        assert sum(report.dropped.values()) <= 112 + 0.01 * 1120
        for source in ("nano/direct", "nano/scratchpad"):
            rows = sealed.pool(source)
            # A worked answer may hold a sealed question by chance; the draw is secret.
            assert len(sealed.scan(rows).kept) >= 0.99 * len(rows)
            told = [points for (points,) in sealed.verify(rows[:100])]
            assert {None, 1.0} <= set(told)
        probed = sealed.probe("p#1", base, Window(count=64))
        assert len(probed.answers) == probed.total == sealed.open().practice == 14
        assert {answer.task for answer in probed.answers} == set(sealed.open().tasks)
        asked = [Row(prompt=a.prompt, completion=f" {a.reference}") for a in probed.answers]
        assert sealed.verify(asked) == ((None,),) * 14


def test_own_questions_are_sealed_with_their_file_and_served_from_it(tmp_path: Path) -> None:
    base, file = base_folder(), tmp_path / "mine.jsonl"
    rows = (
        {"prompt": f"Q: is {n} odd?\nA:", "answer": "no" if n % 2 else "yes"} for n in range(90)
    )
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    counts: dict[Drawn, int] = {"dev": 10, "confirm": 12, "holdout": 14}
    found = survey(file, base)
    folder = seal("jsonl", base, tmp_path, counts, items=Items(file, found.digest))
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    file.unlink()
    with SealedProcess(folder, base) as sealed:
        opened = sealed.open()
        assert (opened.sizes["dev"], opened.sizes["holdout"]) == (10, 14)
        assert (opened.tasks, opened.sources) == (("own",), ("own/prompts", "own/train"))
        assert len(sealed.pool("own/train")) == 90 - 36
        prompts = sealed.pool("own/prompts")
        assert {type(row) for row in prompts} == {Problem}
        assert len(sealed.scan(prompts).kept) == 90 - 36
        result = sealed.evaluate("base#1", base, ("confirm",))
        assert sum(result.scores[0].counts.values()) == 12
        assert result.scores[0].counts["error"] == 0
    given = folder / "given.jsonl"
    given.write_bytes(given.read_bytes() + b"\n")
    with SealedProcess(folder, base) as sealed, pytest.raises(SealUnavailable) as damaged:
        sealed.open()
    assert damaged.value.code == "SEAL_DAMAGED"
    with pytest.raises(Refused) as none:
        seal("jsonl", base, tmp_path, counts)
    assert none.value.code == "NO_BENCHMARK_FILE"
