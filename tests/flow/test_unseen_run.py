"""The playbook on a base of another width and a benchmark that it has never seen, for real."""

import json
import re
from pathlib import Path

import pytest

from rsi_master.agents.playbook import rates
from rsi_master.app.plugins import base_folder
from rsi_master.app.reader import check, read
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.run import ClaimScored
from rsi_master.interfaces.cli import main
from rsi_master.interfaces.runs import newest
from rsi_master.testing.folders import digest_of

WORDS = ("red", "blue", "green", "old", "new", "big")


def questions() -> list[dict[str, str]]:
    """The second of two words, between others: two letters of structure, and nothing of nano's."""
    rows = []
    for number in range(900):
        first, second = WORDS[number % 6], WORDS[number // 6 % 6]
        rows.append({"prompt": f"Q: {first} {number} {second}?\nA:", "answer": second})
    return rows


def narrowed(text: str) -> str:
    """The contract on the narrow base, with few trainings."""
    digest = digest_of(base_folder("narrow"))
    text = re.sub(
        r'(?m)^name = "nano"\ndigest = ".*"$', f'name = "narrow"\ndigest = "{digest}"', text
    )
    for key, value in {"experiments": 8, "experiments_per_worker": 2, "workers": 5}.items():
        text, found = re.subn(rf"(?m)^{key} = \d+$", f"{key} = {value}", text)
        assert found == 1, key
    return text.replace('["sft", "rejection", "grpo"]', '["sft", "rejection"]')


def test_another_base_and_an_unseen_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RSI_HOME", str(tmp_path / "home"))
    lines = "".join(json.dumps(row) + "\n" for row in questions())
    Path("mine.jsonl").write_text(lines, encoding="utf-8")
    assert main(["init", "mine", "--benchmark", "mine.jsonl"]) == 0
    text = Path("mine.toml").read_text(encoding="utf-8")
    Path("mine.toml").write_text(narrowed(text), encoding="utf-8")
    assert main(["run", "mine.toml"]) == 0
    folder = newest(Path("runs"))
    assert check(folder).flaws == ()
    record = read(folder)
    state = record.state
    assert state.opened is not None
    assert state.opened.parameters == 493_216
    trained = [e.queued for e in state.experiments.values() if e.queued]
    wanted = rates.short(rates.customary(493_216))
    assert trained[0].recipe["learning_rate"] == wanted
    assert wanted != rates.short(rates.customary(10 * 493_216))
    created = [node.created for node in state.graph.workers()]
    kinds = [(c.purpose, c.recipe) for c in created if isinstance(c, WorkerCreated)]
    assert kinds[0] == ("explore", None)
    assert ("explore", "rejection") in kinds
    assert kinds[-1][0] == "verify"
    assert isinstance(state.claimed, ClaimScored)
    assert state.claimed.result.difference is not None
    assert state.claimed.result.difference.low > 0.2
