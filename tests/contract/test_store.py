"""The event stores: one suite on the fake and on SQLite; crashes, notes, lock, clock and ids."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import rsi_master
from rsi_master.adapters.store.lock import RunLock, held
from rsi_master.adapters.store.notes import NoteFolder
from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.adapters.system import SystemClock, Uuid7
from rsi_master.core.errors import Broken, Finding, Misuse, Refused
from rsi_master.core.ports import EventStore
from rsi_master.expos.merkle import leaf_hash
from rsi_master.testing.stores import MemoryEvents, MemoryNotes

BODIES = [f"body {at}".encode() for at in range(1200)]


@pytest.fixture(params=["memory", "sqlite"])
def events(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryEvents | SqliteEvents]:
    """An empty event store of each kind."""
    kind = request.param
    store = MemoryEvents() if kind == "memory" else SqliteEvents(tmp_path / "a ledger é#?.db")
    yield store
    store.close()


class TestEvents:
    """What every event store does."""

    def test_what_is_appended_is_read_back_in_order(self, events: EventStore) -> None:
        assert (events.size(), list(events.read())) == (0, [])
        events.append(BODIES[:1])
        events.append(BODIES[1:])
        assert list(events.read()) == BODIES
        assert list(events.read(1199)) == BODIES[1199:]
        assert list(events.read(1200)) == []
        assert events.size() == 1200

    def test_an_empty_append_is_nothing(self, events: EventStore) -> None:
        events.append([])
        assert events.size() == 0

    def test_rows_carry_the_leaf_hash(self, events: MemoryEvents | SqliteEvents) -> None:
        events.append(BODIES[:3])
        assert list(events.rows(1)) == [(at, leaf_hash(BODIES[at]), BODIES[at]) for at in (1, 2)]


class TestSqlite:
    """What only the file can show."""

    def test_a_reader_sees_what_the_living_writer_wrote(self, tmp_path: Path) -> None:
        writer = SqliteEvents(tmp_path / "ledger.db")
        reader = SqliteEvents.reader(tmp_path / "ledger.db")
        writer.append(BODIES[:2])
        assert list(reader.read()) == BODIES[:2]
        writer.append(BODIES[2:3])
        assert (reader.size(), list(reader.read(2))) == (3, BODIES[2:3])
        with pytest.raises(Broken, match="readonly"):
            reader.append(BODIES[3:4])
        reader.close()
        writer.close()

    def test_a_reopened_file_goes_on(self, tmp_path: Path) -> None:
        for at in range(3):
            store = SqliteEvents(tmp_path / "ledger.db")
            store.append(BODIES[at : at + 1])
            store.close()
        reader = SqliteEvents.reader(tmp_path / "ledger.db")
        assert list(reader.read()) == BODIES[:3]
        reader.close()

    def test_a_batch_that_does_not_fit_leaves_nothing(self, tmp_path: Path) -> None:
        store = SqliteEvents(tmp_path / "ledger.db")
        store.append(BODIES[:2])
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
        try:
            with pytest.raises(Broken, match=r"ledger\.db: .*; free or repair the disk") as broken:
                store.append([b"x" * 4000] * 40)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert "\n" not in broken.value.message
        store.close()
        again = SqliteEvents(tmp_path / "ledger.db")
        assert list(again.read()) == BODIES[:2]
        again.close()

    def test_damage_is_a_finding_at_its_event(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.db"
        store = SqliteEvents(path)
        store.append([b"first", b"precious words", b"third"])
        store.close()
        path.write_bytes(path.read_bytes().replace(b"precious", b"precioux"))
        reader = SqliteEvents.reader(path)
        with pytest.raises(Finding, match="event 1 were changed"):
            list(reader.read())
        reader.close()

    def test_a_removed_row_is_a_finding(self, tmp_path: Path) -> None:
        path = tmp_path / "ledger.db"
        store = SqliteEvents(path)
        store.append(BODIES[:3])
        store.close()
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM events WHERE position = 1")
        connection.close()
        reader = SqliteEvents.reader(path)
        with pytest.raises(Finding, match="event 1 is missing"):
            list(reader.read())
        reader.close()

    def test_a_file_that_is_no_ledger_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "ledger.db").write_bytes(b"not a database, not at all" * 100)
        with pytest.raises(Finding, match="damaged"):
            SqliteEvents.reader(tmp_path / "ledger.db")
        with pytest.raises(Misuse, match="does not exist"):
            SqliteEvents.reader(tmp_path / "other.db")
        assert not (tmp_path / "other.db").exists()

    @pytest.mark.parametrize("left", [b"", b"SQLite format 3\x00"])
    def test_a_ledger_that_was_cut_is_damaged(self, tmp_path: Path, left: bytes) -> None:
        (tmp_path / "ledger.db").write_bytes(left)
        for opened in (SqliteEvents.reader, SqliteEvents):
            with pytest.raises(Finding, match=r"ledger\.db is damaged: ") as found:
                opened(tmp_path / "ledger.db")
            assert found.value.code == "LEDGER_DAMAGED"
        assert (tmp_path / "ledger.db").read_bytes() == left, "no ledger begins over it"

    def test_another_schema_is_refused(self, tmp_path: Path) -> None:
        with sqlite3.connect(tmp_path / "ledger.db") as connection:
            connection.execute("PRAGMA user_version = 7")
        connection.close()
        with pytest.raises(Refused, match="schema 7"):
            SqliteEvents(tmp_path / "ledger.db")


OWNER = """
import os, sys
from pathlib import Path
from typing import ClassVar
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rsi_master.adapters.store.notes import NoteFolder
from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.adapters.system import SystemClock, Uuid7
from rsi_master.core.action import OS
from rsi_master.core.event import Codec, Fact
from rsi_master.expos.ledger import Ledger, Stamp
from rsi_master.expos.notary import Notary
from rsi_master.expos.notes import Signer

class Moved(Fact):
    type: ClassVar[str] = "moved"
    to: str

run = Path(sys.argv[1])
signer = Signer("rsi", Ed25519PrivateKey.from_private_bytes(bytes(32)))
store = SqliteEvents(run / "ledger.db")
notary = Notary("run", signer, NoteFolder(run / "notes"), every=16)
stamp = Stamp(SystemClock(), Uuid7(), "sha256:" + "0" * 64)
ledger = Ledger(store, Codec((Moved,)), stamp, lambda event: None, notary)
print("ready", store.size(), flush=True)
while True:
    for event in ledger.append(OS, (Moved(to="x"), Moved(to="y"))).wait():
        print(event.position, flush=True)
"""


def killed_owner(run: Path, wait_for: int) -> list[int]:
    """Start an owner that appends, kill -9 it after some acknowledgements; those it gave."""
    environment = {"PYTHONPATH": str(Path(rsi_master.__file__).parents[1]), "PATH": os.defpath}
    command = [sys.executable, "-c", OWNER, str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        lines = [owner.stdout.readline() for _ in range(wait_for + 1)]
        owner.send_signal(signal.SIGKILL)
        lines += owner.stdout.readlines()
    assert lines[0].startswith(b"ready"), "the owner must open what the last one left"
    return [int(line) for line in lines[1:] if line.endswith(b"\n")]


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    known = -1
    for wait_for in (1, 7, 20, 33, 50):
        acknowledged = killed_owner(tmp_path, wait_for)
        assert acknowledged == list(range(acknowledged[0], acknowledged[-1] + 1))
        assert acknowledged[0] > known
        known = acknowledged[-1]
        reader = SqliteEvents.reader(tmp_path / "ledger.db")
        stored = len(list(reader.read()))
        reader.close()
        assert stored > known
        assert stored % 2 == 0, "an append is all or nothing"


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user of the machine can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_crashed_run_on_a_read_only_folder_can_be_read(public_folder: Path) -> None:
    acknowledged = killed_owner(public_folder, 5)
    assert (public_folder / "ledger.db-wal").stat().st_size > 0
    (public_folder / "ledger.db-shm").unlink()
    assert read_without_writing(public_folder) > acknowledged[-1]
    SqliteEvents(public_folder / "ledger.db").close()
    assert not (public_folder / "ledger.db-wal").exists()
    assert read_without_writing(public_folder) > acknowledged[-1]


def read_without_writing(run: Path) -> int:
    """How many events a process reads that may write nothing in the folder of the run."""
    read, write = os.pipe()
    run.chmod(0o555)
    before = sorted(run.iterdir())
    child = os.fork()
    if child == 0:
        try:
            if os.getuid() == 0:
                os.setresuid(65534, 65534, 65534)
            reader = SqliteEvents.reader(run / "ledger.db")
            os.write(write, str(len(list(reader.read()))).encode())
            reader.close()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    assert sorted(run.iterdir()) == before
    run.chmod(0o755)
    return int(answer)


def test_notes_in_memory_and_in_a_folder_read_the_same(tmp_path: Path) -> None:
    for notes in (MemoryNotes(), NoteFolder(tmp_path / "notes")):
        assert notes.all() == ()
        notes.put(300, "later\n")
        notes.put(4, "first é\n")
        notes.put(4, "first é\n")
        assert notes.all() == (
            ("000000000004.note", "first é\n"),
            ("000000000300.note", "later\n"),
        )
    assert len(list((tmp_path / "notes").iterdir())) == 2


def test_a_second_owner_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    path = tmp_path / "owner.lock"
    with RunLock(path):
        with pytest.raises(Refused, match=f"owned by process {os.getpid()}"), RunLock(path):
            pass
        assert path.read_text().split()[0] == str(os.getpid())
    with RunLock(path):
        pass


def test_who_only_looks_sees_that_a_lock_is_held_and_takes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "owner.lock"
    assert not held(path)
    with RunLock(path):
        assert held(path)
    assert path.is_file() and not held(path)


def test_the_clock_runs_and_ids_are_fresh_and_sorted() -> None:
    clock, ids = SystemClock(), Uuid7()
    assert clock.monotonic() <= clock.monotonic()
    assert clock.now() > 1_700_000_000
    fresh = [ids.fresh() for _ in range(100)]
    assert fresh == sorted(set(fresh))
