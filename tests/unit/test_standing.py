"""How a node stands, in every place that tells it."""

from pathlib import Path

import pytest

from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.app.reader import Record
from rsi_master.core.contract import parse
from rsi_master.core.event import Fact
from rsi_master.core.run import RunFinished
from rsi_master.core.state import State
from rsi_master.interfaces import tree
from rsi_master.interfaces.report.directions import fate
from rsi_master.interfaces.status import Glance
from rsi_master.testing import tape

GOLDEN = Path(__file__).parents[1] / "golden" / "dd84764"
OPENED: tuple[Fact, ...] = (
    tape.worker("w1"),
    tape.worker("w2"),
    tape.finalised("w2"),
    tape.requested("r1", "w2"),
)
STOPPED = RunFinished(outcome="stopped", champion=None, reason="enough")


@pytest.mark.parametrize(
    ("facts", "word"),
    [(OPENED, "active"), ((*OPENED, STOPPED), "ended with the run")],
    ids=["at work", "stopped"],
)
def test_who_was_at_work_when_a_run_ended_was_ended_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], facts: tuple[Fact, ...], word: str
) -> None:
    (tmp_path / "run.id").write_text("told-1\n", encoding="utf-8")
    contract = parse((GOLDEN / "contract.toml").read_text(encoding="utf-8"), "contract")
    events = tape.events(facts)
    state = State.replay(contract, events)
    record = Record(RunFolder(tmp_path), contract, state, events)
    glance = Glance(record, Home(tmp_path / "home"))
    assert {n.id: fate(state, n) for n in state.graph.nodes.values()} == {
        "w1": word,
        "w2": "dead end",
        "r1": word,
    }
    told = {one.node: one.state for one in glance.status().directions}
    drawn = {one.id: one.state for one in tree.graph(record).nodes if one.id != "main"}
    assert told == drawn == {"w1": word, "w2": "finalised", "r1": word}
    glance.show()
    assert capsys.readouterr().out.count(word) == 2
