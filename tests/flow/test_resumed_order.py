"""What a former owner left open is closed before anybody can ask a resumed run for more."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rsi_master.app import start
from rsi_master.app.lab import open_lab
from rsi_master.app.reader import check, read
from rsi_master.core.action import OS, Amounts
from rsi_master.core.run import ActionIntended, ActionSettled
from rsi_master.expos.gateway import LocalGateway

from .contracts import created, sketch

LEFT = ActionIntended(intent="left", action="data.add", arguments={}, reserve=Amounts())


class Opened(Exception):
    """The door is about to open."""


def test_no_intent_is_open_when_the_door_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, home = created(tmp_path, sketch())
    with open_lab(folder, home, (), None) as lab:
        start._record_start(lab, "none")
        lab.ledger.append(OS, (LEFT,)).wait()

    @contextmanager
    def opening(gateway: LocalGateway, _socket: Path) -> Iterator[None]:
        assert gateway._parts.state.intents == {}
        raise Opened
        yield

    monkeypatch.setattr(start, "serving", opening)
    with pytest.raises(Opened):
        start.run(folder, home)
    settled = [e.fact for e in read(folder).events if isinstance(e.fact, ActionSettled)]
    assert [(s.intent, s.outcome, s.code) for s in settled] == [("left", "abandoned", "OWNER_GONE")]
    assert check(folder).flaws == ()
