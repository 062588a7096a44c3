"""What a run has one of, in full: its contract, Main, the claim."""

from rsi_master.app.reader import Record
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.run import ClaimScored, TurnStarted
from rsi_master.interfaces import words
from rsi_master.interfaces.sheet import Found, Rows, dump, scores


def contract(record: Record, _digest: str) -> Found:
    """Every key of the contract, defaults filled in."""
    whole = record.contract.model_dump(mode="json")
    rows: Rows = []
    for name, value in whole.items():
        inner = value.items() if isinstance(value, dict) else ()
        rows += [(f"{name}.{key}", _value(part)) for key, part in inner] or [(name, _value(value))]
    return rows, {"contract": whole}


def main(record: Record, _node: str) -> Found:
    """What Main opened, was told and concluded."""
    state = record.state
    turns = sum(
        1 for e in record.events if isinstance(e.fact, TurnStarted) and e.fact.role == "main"
    )
    rows: Rows = [("target", record.contract.target), ("turns", str(turns))]
    for node in state.graph.nodes.values():
        created = node.created
        doing = created.direction if isinstance(created, WorkerCreated) else created.question
        rows.append((f"opened {node.id}", doing))
    rows += [("was told", given.text) for given in state.guidance]
    if state.claim is not None:
        rows.append(("claimed", state.claim.experiment))
    if state.finish_asked is not None:
        rows.append(("end", state.finish_asked.reason))
    facts = {
        "turns": turns,
        "opened": list(state.graph.nodes),
        "guidance": [given.text for given in state.guidance],
        "claim": dump(state.claim),
        "finish": dump(state.finish_asked),
    }
    return rows, facts


def claim(record: Record, name: str) -> Found:
    """The one opening of the holdout; lookup finds it only when it is over."""
    state = record.state
    assert state.claimed is not None, "lookup tells claims that are over from others"
    rows: Rows = [("experiment", state.claimed.experiment), ("opening", name)]
    if isinstance(state.claimed, ClaimScored):
        result = state.claimed.result
        rows += scores(result.champion, "claimed") + scores(result.base, "base")
        rows += [("difference", words.points(result.difference)), ("weights", result.weights)]
    else:
        rows.append(("no score", state.claimed.reason))
    return rows, {"claim": dump(state.claimed)}


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return words.listed(str(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
