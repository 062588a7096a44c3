"""A run as an older version recorded and signed it: its bytes are read as what they meant.

`tests/golden/<commit>` holds a whole run of the test recipe, written by the code of that commit.
"""

import json
from pathlib import Path

import pytest

from rsi_master.adapters.store.sqlite import SqliteEvents, leaf_hash
from rsi_master.app.folder import RunFolder
from rsi_master.app.laws import laws
from rsi_master.app.reader import read
from rsi_master.core.canonical import decode, encode
from rsi_master.core.contract import parse
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered
from rsi_master.core.errors import Finding
from rsi_master.core.facts import CODEC
from rsi_master.core.state import State
from rsi_master.expos.merkle import root_of
from rsi_master.expos.notes import Note, Verifier
from rsi_master.interfaces import show
from rsi_master.interfaces.lookup import Thing
from rsi_master.testing.stores import MemoryObjects

GOLDEN = Path(__file__).parents[1] / "golden" / "dd84764"
BODIES = (GOLDEN / "events.jsonl").read_bytes().splitlines()
# The first of the two registrations; that commit knew rows with a completion alone.
AT = 10
REGISTERED = BODIES[AT]


def changed(**fields: object) -> bytes:
    """The recorded registration with other fields of the fact."""
    raw = decode(REGISTERED)
    assert isinstance(raw, dict)
    return encode({**raw, "fact": {**raw["fact"], **fields}})


def versioned(body: bytes, version: bytes) -> bytes:
    """The body under another version, written as given."""
    given = body.replace(b'"version":1}', b'"version":' + version + b"}")
    assert given != body
    return given


def test_the_bytes_are_those_that_were_signed() -> None:
    note = Note.parse((GOLDEN / "head.note").read_text(encoding="utf-8"))
    Verifier.parse((GOLDEN / "verifier.key").read_text(encoding="utf-8")).verify(note)
    assert (note.size, note.root) == (len(BODIES), root_of([leaf_hash(b) for b in BODIES]))


def test_the_old_record_replays_to_its_end() -> None:
    contract = parse((GOLDEN / "contract.toml").read_text(encoding="utf-8"), "contract.toml")
    events = [CODEC.read(body) for body in BODIES]
    assert {event.contract for event in events} == {contract.digest()}
    state = State.replay(contract, events)
    assert state.finished is not None
    assert (state.finished, state.finished.outcome) == (events[-1].fact, "champion")
    assert len(state.experiments) == 3


def test_the_old_record_keeps_todays_laws() -> None:
    contract = parse((GOLDEN / "contract.toml").read_text(encoding="utf-8"), "contract.toml")
    events = [CODEC.read(body) for body in BODIES]
    assert [flaw for law in laws(MemoryObjects(), contract) for flaw in law(events)] == []


def test_only_these_facts_have_another_shape_today() -> None:
    other = {e.fact.type for b in BODIES if (e := CODEC.read(b)).to_bytes() != b}
    added = {"experiment.queued": "merges", "worker.created": "promotion", "run.opened": "verifier"}
    assert other == {"dataset.registered", *added}
    for body in BODIES:
        raw = decode(body)
        assert isinstance(raw, dict)
        if raw["type"] in added:
            assert (raw["version"], added[raw["type"]] in str(raw["fact"])) == (1, False)


@pytest.mark.parametrize("kind", ["experiment.queued", "worker.created", "run.opened"])
def test_what_was_added_is_not_read_as_version_1(kind: str) -> None:
    body = next(body for body in BODIES if f'"type":"{kind}"'.encode() in body)
    event = decode(CODEC.read(body).to_bytes())
    assert isinstance(event, dict)
    with pytest.raises(Finding, match="version 1 has no field"):
        CODEC.read(encode({**event, "version": 1}))


def test_a_registration_of_version_1_holds_rows() -> None:
    raw = decode(REGISTERED)
    assert isinstance(raw, dict)
    assert (raw["type"], raw["version"], "holds" in raw["fact"]) == ("dataset.registered", 1, False)
    fact = CODEC.read(REGISTERED).fact
    assert isinstance(fact, DatasetRegistered)
    assert fact.holds == "rows"
    shown = fact.model_dump(mode="json", exclude={"holds": True, "source": {"sampled"}})
    assert shown == raw["fact"]
    assert fact.source.sampled is None


def test_what_version_1_did_not_know_is_not_read_as_version_1() -> None:
    with pytest.raises(Finding, match="version 1 has no field 'holds'") as found:
        CODEC.read(changed(holds="pairs"))
    assert found.value.code == "EVENT_UNREADABLE"
    with pytest.raises(Finding, match="event cannot be read"):
        CODEC.read(changed(kind="rows"))


def test_a_registration_of_version_2_held_nothing_that_a_checkpoint_wrote() -> None:
    raw = decode(CODEC.read(REGISTERED).to_bytes())
    assert isinstance(raw, dict) and raw["version"] == 3
    source = dict(raw["fact"]["source"])
    assert source.pop("sampled", "") is None
    old = {**raw, "version": 2, "fact": {**raw["fact"], "source": source}}
    assert CODEC.read(encode(old)) == CODEC.read(REGISTERED)
    refusal = {"source": source, "offered": 1, "dropped": {"NOT_TEXT": 1}, "by": "main"}
    refused = {**raw, "type": "dataset.refused", "version": 1, "fact": refusal}
    assert isinstance(CODEC.read(encode(refused)).fact, DatasetRefused)
    newer = {**refusal, "source": {**source, "sampled": None}}
    for known in ({**raw, "version": 2}, {**raw, "version": 1}, {**refused, "fact": newer}):
        with pytest.raises(Finding, match=r"has no field '(sampled|holds)'"):
            CODEC.read(encode(known))


@pytest.mark.parametrize("version", [b"true", b"1.0", b"1e0", b'"1"', b"null", b"0", b"9", b"-1"])
@pytest.mark.parametrize("body", [BODIES[0], REGISTERED], ids=["run.opened", "dataset.registered"])
def test_a_version_is_an_integer_that_was_written(body: bytes, version: bytes) -> None:
    with pytest.raises(Finding, match=r"event cannot be read: .*version") as found:
        CODEC.read(versioned(body, version))
    assert found.value.code == "EVENT_UNREADABLE"


def test_an_event_is_shown_as_it_was_recorded(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for name in ("contract.toml", "run.id"):
        (tmp_path / name).write_bytes((GOLDEN / name).read_bytes())
    store = SqliteEvents(folder.ledger)
    store.append(BODIES)
    store.close()
    record = read(folder)
    for event, body in zip(record.events, BODIES, strict=True):
        sheet = show.sheet(record, Thing("event", event.id))
        assert json.loads(sheet.json())["event"] == json.loads(body)
    shown = show.sheet(record, Thing("event", record.events[AT].id)).text()
    assert "dataset.registered, version 1\n" in shown
    assert "holds" not in shown
    assert '"sketch/clean"' in shown


@pytest.mark.parametrize(
    ("version", "lacked"), [(2, {"practice": 0, "suite": None}), (3, {"suite": None})]
)
def test_a_run_of_an_older_version_lacked_what_was_added_to_its_sealed_set(
    version: int, lacked: dict[str, object]
) -> None:
    raw = decode(CODEC.read(BODIES[0]).to_bytes())
    assert isinstance(raw, dict)
    sealed = dict(raw["fact"]["sealed"])
    assert {name: sealed.pop(name) for name in lacked} == lacked
    old = {**raw, "version": version, "fact": {**raw["fact"], "sealed": sealed}}
    assert CODEC.read(encode(old)) == CODEC.read(BODIES[0])
    with pytest.raises(Finding, match=f"no field '{min(lacked)}'"):
        CODEC.read(encode({**raw, "version": version}))
