from pathlib import Path

import pytest

from rsi_master.app.folder import RunFolder
from rsi_master.app.reader import Record
from rsi_master.core.action import OS, Caller, Role
from rsi_master.core.artifact import Artifact
from rsi_master.core.contract import Base as PinnedBase
from rsi_master.core.contract import Budget, Contract, Policy
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.event import Event, Fact
from rsi_master.core.run import FinishAsked, OwnerStarted, RunFinished
from rsi_master.core.state import State
from rsi_master.interfaces import words
from rsi_master.interfaces.ending import ending, text, unfinished
from rsi_master.testing import tape

CONTRACT = Contract(
    name="told",
    target="answer",
    base=PinnedBase(digest="sha256:" + "ab" * 32),
    budget=Budget(device_seconds=10, wall_seconds=90, evaluations=10, experiments=10),
    policy=Policy(sources=("nano/direct",)),
)
MAIN = Caller(role=Role.MAIN, node="main", actor="playbook")


def finished(
    folder: Path, asked_by: Caller, reason: str, *told_before: Fact, seconds: float = 0.0
) -> Record:
    """A run without a champion that ended after so long because somebody asked for it."""
    (folder / "run.id").write_text("told-1\n", encoding="utf-8")
    told = (
        (OS, OwnerStarted(resumed=False, tier="namespaces", platform="linux")),
        *((MAIN, fact) for fact in told_before),
        (asked_by, FinishAsked(reason=reason)),
        (OS, RunFinished(outcome="no_champion", champion=None, reason=reason)),
    )
    events = tuple(
        Event(
            position=at,
            id=f"e{at}",
            at=seconds if at else 0.0,
            contract="c",
            caller=caller,
            fact=fact,
        )
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


@pytest.mark.parametrize(("seconds", "decided"), [(80.0, False), (82.0, True), (95.0, True)])
def test_it_is_told_when_the_clock_decided_what_a_run_came_to(
    tmp_path: Path, seconds: float, decided: bool
) -> None:
    end = ending(finished(tmp_path, MAIN, "the claim is scored", seconds=seconds))
    assert ("The clock of 90 s was used up" in text(end)) is decided


def taken(name: str, *parents: str, **operation: object) -> DatasetRegistered:
    """Rows of the source enter the pool, or what was made of them."""
    return DatasetRegistered(
        artifact=Artifact(digest=tape.digest(name), kind="dataset", size=1),
        source=made(*parents, **operation),
        holds="rows",
        rows=9,
        offered=9,
        dropped={},
        completion_chars=9,
        prompt_chars=9,
        by="main",
    )


def refused(offered: int, dropped: dict[str, int], source: Source) -> DatasetRefused:
    """Nothing is left of them."""
    return DatasetRefused(source=source, offered=offered, dropped=dropped, by="main")


def made(*parents: str, **operation: object) -> Source:
    return Source(
        origin="nano/direct", parents=tuple(map(tape.digest, parents)), operation=operation
    )


VERIFIED = made("pool", filter={"verified": True}, removed={"verified": 9})
GONE = (
    "it was taken, and no row was left of it: filtered: only rows that the benchmark's open "
    "verifier does not contradict; dropped 9 as wrong"
)
NO_DIRECTION = "Main opened no direction for it"


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ((refused(4, {"EMPTY_PROMPT": 4}, made()),), "all 4 rows were dropped (EMPTY_PROMPT 4)"),
        ((taken("pool"), refused(0, {}, VERIFIED)), GONE),
        (
            (taken("pool"), refused(3, {"SEALED_PROMPT": 1}, made("pool", transform="x"))),
            "it was taken, and no row was left of it: each row made into none, one or several by "
            "a program; the scan dropped SEALED_PROMPT 1: repeat sealed items",
        ),
        (
            (taken("pool"), taken("short", "pool", shuffle=0), refused(0, {}, VERIFIED)),
            NO_DIRECTION,
        ),
        ((taken("pool"),), NO_DIRECTION),
    ],
)
def test_it_is_told_what_became_of_a_source_that_was_not_tried(
    tmp_path: Path, told: tuple[Fact, ...], reason: str
) -> None:
    end = ending(finished(tmp_path, MAIN, "done", *told))
    assert [one.reason for one in end.untried] == [reason]


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
