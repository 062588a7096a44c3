"""The graphs as `rsi graph` gives them: every edge of the record, in JSON and in DOT."""

from pathlib import Path

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record
from rsi_master.core.state import State
from rsi_master.interfaces import tree
from rsi_master.testing import tape
from rsi_master.testing.rig import sketch_contract


def test_a_merge_continues_all_that_it_joins() -> None:
    facts = (
        tape.worker("w1"),
        *tape.life("a"),
        *tape.life("b", init="a"),
        *tape.life("m", init="b", merges=("a",)),
    )
    contract, events = sketch_contract(), tuple(tape.events(facts))
    record = Record(RunFolder(Path("run")), contract, State.replay(contract, events), events)
    found = tree.graph(record)
    continued = [(edge.source, edge.target) for edge in found.edges if edge.kind == "continues"]
    assert continued == [("base", "a"), ("a", "b"), ("b", "m"), ("a", "m")]
    drawn = tree.dot(found)
    for source, target in continued:
        assert f'"{source}" -> "{target}" [label="continues", style=solid];' in drawn
