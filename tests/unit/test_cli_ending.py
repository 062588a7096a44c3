from pathlib import Path

import pytest

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record
from rsi_master.core.action import OS, Caller, Role
from rsi_master.core.contract import Base as PinnedBase
from rsi_master.core.contract import Budget, Contract, Policy
from rsi_master.core.event import Event
from rsi_master.core.run import FinishAsked, OwnerStarted, RunFinished
from rsi_master.core.state import State
from rsi_master.interfaces import words
from rsi_master.interfaces.ending import ending, text, unfinished

CONTRACT = Contract(
    name="told",
    target="answer",
    base=PinnedBase(digest="sha256:" + "ab" * 32),
    budget=Budget(device_seconds=10, wall_seconds=90, evaluations=10, experiments=10),
    policy=Policy(sources=("nano/direct",)),
)
MAIN = Caller(role=Role.MAIN, node="main", actor="playbook")


def finished(folder: Path, asked_by: Caller, reason: str) -> Record:
    """A run without a champion that ended because somebody asked for it."""
    (folder / "run.id").write_text("told-1\n", encoding="utf-8")
    told = (
        (OS, OwnerStarted(resumed=False, tier="namespaces", platform="linux")),
        (asked_by, FinishAsked(reason=reason)),
        (OS, RunFinished(outcome="no_champion", champion=None, reason=reason)),
    )
    events = tuple(
        Event(position=at, id=f"e{at}", at=1.0, contract="c", caller=caller, fact=fact)
        for at, (caller, fact) in enumerate(told)
    )
    return Record(RunFolder(folder), CONTRACT, State.replay(CONTRACT, events), events)


@pytest.mark.parametrize(
    ("asked_by", "reason"),
    [
        (OS, "the run ended before: the turn failed"),
        (MAIN, "Main opened no direction for it"),
    ],
)
def test_a_source_is_laid_to_mains_choice_only_when_main_chose(
    tmp_path: Path, asked_by: Caller, reason: str
) -> None:
    end = ending(finished(tmp_path, asked_by, "the turn failed"))
    assert [(one.source, one.reason) for one in end.untried] == [("nano/direct", reason)]


def test_without_a_champion_there_is_none_to_take_out(tmp_path: Path) -> None:
    told = text(ending(finished(tmp_path, MAIN, "nothing held")))
    assert told.startswith("No champion: nothing held.")
    assert f"{words.program()} verify " in told
    assert f"{words.program()} report " in told
    assert "--out" not in told
    assert f"{words.program()} try " not in told


def test_the_command_to_go_on_quotes_a_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = unfinished(RunFolder(tmp_path / "my run"))
    assert told == f"go on with: {words.program()} resume 'my run'"


def test_a_recipe_that_is_not_installed_here_may_take_any_kind_of_rows() -> None:
    assert words.taken(("sft",)) == {"rows"}
    assert words.taken(("sft", "of another installation")) == {"rows", "prompts", "pairs"}
