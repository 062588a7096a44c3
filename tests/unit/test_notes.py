"""Signed notes: their written form, whose signature they bear, and the files of the keys."""

import base64
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from rsi_master.core.errors import Finding, Misuse, Refused
from rsi_master.expos.notes import Note, Signature, Signer, Verifier, create_key, load_key

ROOT = bytes(range(32))
SIGNER = Signer("rsi", Ed25519PrivateKey.from_private_bytes(b"\x07" * 32))
NOTE = SIGNER.sign("run-1", 300, ROOT)
TEXT = NOTE.text()

# A tree head of the checksum database of Go modules, and its public key.
GO_KEY = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
GO_NOTE = (
    "go.sum database tree\n"
    "6476701\n"
    "mb8QLQIs0Z0yP5Cstq6guj87oXWeC9gEM8oVikmm9Wk=\n"
    "\n"
    "— sum.golang.org "
    "Az3grsLX85Gz+s1SiTbgkuqxgItqFq7gsMUEyVnrsa9LM7Us9S+1xbFIGu95949rj4nPRYfvimWEPWL+o3GeoWwOoAw=\n"
)


def test_a_note_of_another_log_verifies_with_its_key() -> None:
    verifier, note = Verifier.parse(GO_KEY), Note.parse(GO_NOTE)
    verifier.verify(note)
    assert note.size == 6_476_701
    assert str(verifier) == GO_KEY
    assert note.text() == GO_NOTE


def test_the_form_is_that_of_a_checkpoint() -> None:
    lines = TEXT.split("\n")
    assert lines[:4] == ["run-1", "300", base64.b64encode(ROOT).decode(), ""]
    assert lines[4].startswith("— rsi ")
    assert lines[5:] == [""]


@settings(deadline=None)
@given(st.integers(0, 10**17), st.binary(min_size=32, max_size=32))
def test_a_note_reads_back_and_verifies(size: int, root: bytes) -> None:
    note = Note.parse(SIGNER.sign("run é", size, root).text())
    SIGNER.verifier.verify(note)
    assert (note.origin, note.size, note.root) == ("run é", size, root)


def test_cosignatures_are_kept_and_do_not_disturb() -> None:
    other = Signer("witness", Ed25519PrivateKey.generate())
    both = replace(NOTE, signatures=NOTE.signatures + other.sign("run-1", 300, ROOT).signatures)
    read = Note.parse(both.text())
    assert read == both
    SIGNER.verifier.verify(read)
    other.verifier.verify(read)


@settings(deadline=None)
@given(st.integers(0, len(TEXT) - 1), st.characters(min_codepoint=10, max_codepoint=0x2030))
def test_no_changed_letter_goes_unnoticed(at: int, letter: str) -> None:
    changed = TEXT[:at] + letter + TEXT[at + 1 :]
    if changed != TEXT:
        with pytest.raises(Finding):
            SIGNER.verifier.verify(Note.parse(changed))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "three lines"),
        (TEXT.replace("300", "0300"), "size '0300'"),
        (TEXT.replace("300", "+300"), "size"),
        (TEXT.replace("run-1", "run\t1"), "origin"),
        (TEXT.replace("run-1\n", "\n", 1), "origin"),
        (TEXT.replace("AAEC", "AAE!"), "root"),
        (TEXT.replace("300\n", "300\n\n"), "three lines"),
        (TEXT.replace("— rsi", "- rsi"), "signature line"),
        (TEXT + "\n", "signature line"),
        (TEXT.rstrip("\n"), "no end"),
        ("run-1\n1\n" + base64.b64encode(ROOT).decode() + "\n\n— rsi AAAA\n", "empty"),
    ],
)
def test_an_unreadable_note_names_its_line(text: str, reason: str) -> None:
    with pytest.raises(Finding, match=reason) as found:
        Note.parse(text)
    assert found.value.code == "NOTE_UNREADABLE"


def test_another_key_of_the_same_name_is_named() -> None:
    stranger = Signer("rsi", Ed25519PrivateKey.generate())
    with pytest.raises(Finding, match="not by rsi") as found:
        stranger.verifier.verify(NOTE)
    assert found.value.code == "NOTE_WRONG_KEY"


def test_a_signature_over_another_text_is_named() -> None:
    with pytest.raises(Finding, match="note 301") as found:
        SIGNER.verifier.verify(replace(NOTE, size=301))
    assert found.value.code == "NOTE_FORGED"


def test_one_good_line_does_not_cover_a_bad_one() -> None:
    bad = Signature("rsi", SIGNER.verifier.key_hash, b"\x00" * 64)
    with pytest.raises(Finding):
        SIGNER.verifier.verify(replace(NOTE, signatures=(*NOTE.signatures, bad)))


def test_a_key_is_private_and_loads_as_itself(tmp_path: Path) -> None:
    path = tmp_path / "signing.key"
    created = create_key(path, "rsi")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["signing.key"]
    assert load_key(path).verifier == created.verifier
    created.verifier.verify(load_key(path).sign("run-1", 1, ROOT))


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "signing.key"
    create_key(path, "rsi")
    before = path.read_bytes()
    with pytest.raises(Refused, match="exists"):
        create_key(path, "rsi")
    assert path.read_bytes() == before


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "signing.key"
    create_key(path, "rsi")
    path.chmod(0o640)
    with pytest.raises(Refused, match="0640; run chmod 600"):
        load_key(path)


@pytest.mark.parametrize("text", ["", "PRIVATE+KEY+rsi+00000000+AQ==", "no key", "\udc80"])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "signing.key"
    path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
    path.chmod(0o600)
    with pytest.raises(Refused, match=r"signing\.key"):
        load_key(path)


def test_a_damaged_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "signing.key"
    create_key(path, "rsi")
    path.write_text(path.read_text().replace("KEY+rsi+", "KEY+other+"))
    with pytest.raises(Refused, match="damaged"):
        load_key(path)


@pytest.mark.parametrize("text", ["", "rsi", "rsi+00000000+AQ==", GO_KEY.replace("033", "034")])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(Misuse):
        Verifier.parse(text)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\n"])
def test_a_key_name_must_fit_its_line(name: str) -> None:
    with pytest.raises(Misuse):
        Signer(name, Ed25519PrivateKey.generate())
