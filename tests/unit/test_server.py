"""The owner's door: one line in, one line out, whatever comes."""

import contextlib
import json
import socket
import stat
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi_master.app.server import alive, answer_line, ask, serving
from rsi_master.core.action import Role
from rsi_master.core.errors import Broken, PolicyDenied
from rsi_master.core.model import Value
from rsi_master.testing.rig import Rig


class Answer(Value):
    """What the echo says."""

    token: str
    action: str
    arguments: dict[str, str]


class Echo:
    """A gateway that answers with the request, denies one action and breaks on another."""

    def submit(self, token: str, name: str, arguments: Mapping[str, object]) -> Value:
        """Say what was asked."""
        if name == "no":
            raise PolicyDenied("ROLE", "no: not yours")
        if name == "break":
            raise ZeroDivisionError("of a\nplugin")
        plain = {key: str(value) for key, value in arguments.items()}
        return Answer(token=token, action=name, arguments=plain)


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    address = tmp_path / "owner.sock"
    with serving(Echo(), address):
        yield address


def test_a_request_is_answered(path: Path) -> None:
    answer = ask(path, "t", "look", {"at": "ü\n"})
    assert answer == {
        "ok": True,
        "answer": {"token": "t", "action": "look", "arguments": {"at": "ü\n"}},
    }


def test_a_refusal_is_an_answer_with_code_and_exit(path: Path) -> None:
    answer = ask(path, "t", "no", {})
    assert answer == {"ok": False, "code": "ROLE", "message": "no: not yours", "exit": 4}


def test_a_fault_is_an_answer_of_one_line_and_the_door_stays_open(path: Path) -> None:
    answer = ask(path, "t", "break", {})
    message = "the request failed inside the owner: ZeroDivisionError"
    assert answer == {"ok": False, "code": "INTERNAL", "message": message, "exit": 7}
    assert ask(path, "t", "look", {})["ok"]


def test_several_requests_share_a_connection_and_a_bad_one_breaks_none(path: Path) -> None:
    lines = (b"nonsense", b'{"token": "t", "action": "look"}', b"[]")
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(10)
        link.connect(str(path))
        link.sendall(b"\n".join(lines) + b"\n")
        with link.makefile("rb") as file:
            answers = [json.loads(file.readline()) for _ in lines]
    assert [answer["ok"] for answer in answers] == [False, True, False]


def test_the_socket_is_the_owners_alone_and_goes_with_it(tmp_path: Path) -> None:
    address = tmp_path / "owner.sock"
    address.write_text("left by a dead owner")
    with serving(Echo(), address):
        assert stat.S_IMODE(address.stat().st_mode) == 0o600
    assert not address.exists()
    with pytest.raises(Broken, match="does not answer"):
        ask(address, "t", "look", {})


def test_an_action_may_take_many_times_the_patience_of_the_one_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[bool] = []
    go_on = threading.Event()

    class Slow(Echo):
        def submit(self, token: str, name: str, arguments: Mapping[str, object]) -> Value:
            assert go_on.wait(60)
            return super().submit(token, name, arguments)

    def counted(path: Path, patience: float) -> bool:
        tried.append(alive(path, 60))
        if len(tried) == 3:
            go_on.set()
        return tried[-1]

    monkeypatch.setattr("rsi_master.app.server.alive", counted)
    with serving(Slow(), tmp_path / "owner.sock"):
        assert ask(tmp_path / "owner.sock", "t", "look", {}, patience=0.05)["ok"]
    assert tried[:3] == [True, True, True]


def test_an_owner_that_hangs_is_told_and_one_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    """The socket is open, so that requests are taken by the kernel and by nobody else."""
    address = tmp_path / "owner.sock"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(address))
        door.listen()
        assert not alive(address, 0.05)
        with pytest.raises(Broken, match=r"nothing for 0\.1 s, and its door is shut") as silent:
            ask(address, "t", "look", {}, patience=0.05)
        assert silent.value.code == "OWNER_SILENT"

        def leave() -> None:
            with contextlib.suppress(OSError):
                while True:
                    door.accept()[0].close()

        thread = threading.Thread(target=leave)
        thread.start()
        with pytest.raises(Broken) as ended:
            ask(address, "t", "look", {}, patience=60)
        assert ended.value.code == "OWNER_SILENT"
        door.shutdown(socket.SHUT_RDWR)
        thread.join(60)
    assert not alive(address)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["token", "action", "arguments", "x"]), inner, max_size=4)
    ),
)


@given(st.binary(max_size=80) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_line_gets_an_answer_that_is_json(line: bytes) -> None:
    answer = answer_line(Echo(), line)
    assert json.loads(json.dumps(answer)) == answer
    assert answer["ok"] is True or answer["code"] == "BAD_REQUEST"


def test_a_line_of_brackets_without_end_is_only_a_bad_request() -> None:
    assert answer_line(Echo(), b"[" * 500_000)["code"] == "BAD_REQUEST"


def test_the_door_opens_to_the_real_gateway_by_token_alone(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    address = tmp_path / "owner.sock"
    try:
        with serving(rig.gateway, address):
            token = rig.session(Role.MAIN, "main").token
            assert ask(address, token, "data.add", {"source": "sketch/clean"})["ok"]
            guessed = ask(address, "rsi_guessed", "data.list", {})
            assert (guessed["code"], guessed["exit"]) == ("UNKNOWN_TOKEN", 4)
            wrong = ask(address, token, "data.add", {"source": 3})
            assert (wrong["code"], wrong["exit"]) == ("BAD_ARGUMENT", 2)
    finally:
        rig.close()
