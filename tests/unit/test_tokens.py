"""Capability tokens: who holds one is its caller, nothing else opens anything."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.core.action import Caller, Role
from rsi_master.core.errors import PolicyDenied
from rsi_master.expos.tokens import Tokens

WORKER = Caller(role=Role.WORKER, node="w1", actor="playbook")
PERSON = Caller(role=Role.OPERATOR, node="operator", actor="person")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "outside" / "tokens.json"


def test_a_token_stands_for_its_caller_until_it_is_revoked(table: Path) -> None:
    tokens = Tokens(table)
    one, other = tokens.issue(WORKER), tokens.issue(PERSON)
    assert (tokens.caller(one), tokens.caller(other)) == (WORKER, PERSON)
    tokens.revoke(one)
    with pytest.raises(PolicyDenied, match="opens nothing"):
        tokens.caller(one)
    assert tokens.caller(other) == PERSON


@given(st.text(st.characters(exclude_categories=())))
def test_a_guessed_token_opens_nothing(guess: str) -> None:
    tokens = Tokens(Path("no-such-folder") / "tokens.json")
    tokens.issue(WORKER)
    with pytest.raises(PolicyDenied) as denied:
        tokens.caller(guess)
    assert denied.value.code == "UNKNOWN_TOKEN"


def test_a_token_of_this_process_is_no_token_of_the_next(table: Path) -> None:
    token = Tokens(table).issue(WORKER)
    with pytest.raises(PolicyDenied):
        Tokens(table).caller(token)


def test_a_lasting_token_holds_for_the_next_process_and_for_this_run_alone(table: Path) -> None:
    first, second = Tokens(table).issue_lasting(PERSON), Tokens(table).issue_lasting(WORKER)
    assert Tokens(table).caller(first) == PERSON
    assert Tokens(table).caller(second) == WORKER
    with pytest.raises(PolicyDenied):
        Tokens(table.with_name("another-run.json")).caller(first)


def test_the_file_holds_no_token_and_is_the_owners_alone(table: Path) -> None:
    token = Tokens(table).issue_lasting(PERSON)
    assert token not in table.read_text()
    assert stat.S_IMODE(table.stat().st_mode) == 0o600
    assert list(table.parent.iterdir()) == [table]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"KEY": {"role": "king"}}'])
def test_a_damaged_table_opens_nothing_and_says_so(table: Path, text: str) -> None:
    token = Tokens(table).issue_lasting(PERSON)
    (key,) = Tokens(table)._read()
    table.write_text(text.replace("KEY", key))
    with pytest.raises(PolicyDenied) as denied:
        Tokens(table).caller(token)
    assert denied.value.code == "TOKENS_UNREADABLE"
