"""What made the champion's data in a report: operations, programs of agents, writers of answers."""

from pathlib import Path

import pytest
from tests.unit.told import base, cells, claimed, data, page, run, started, worker

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.core.artifact import Artifact
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Sampled, Source
from rsi_master.core.program import ProgramAdded, ProgramKind, ProgramText
from rsi_master.core.run import RunFinished
from rsi_master.interfaces.report.compose import compose
from rsi_master.interfaces.report.markdown import markdown
from rsi_master.interfaces.report.subject import Subject
from rsi_master.testing import tape
from rsi_master.testing.page import Page

JUDGE = 'def reward(episode):\n    """</pre><script>alert(1)</script>"""\n\treturn 1.0 # `x`\n'
CHANGE = "def transform(row):\n    return row\n"


def digest(word: str) -> str:
    """A digest-shaped text that begins otherwise for each word."""
    return f"sha256:{word.encode().hex():0<64}"


def program(folder: Path, kind: ProgramKind, source: str) -> ProgramAdded:
    """A program of w1 that met its test."""
    folder.mkdir(parents=True, exist_ok=True)
    text = ProgramText(kind=kind, source=source).render()
    return ProgramAdded(
        artifact=FolderObjects(folder / "objects").put_bytes("program", text),
        kind=kind,
        title="mine",
        source_chars=len(source),
        tests=Artifact(digest=tape.digest("tests"), kind="program", size=1),
        examples=2,
        by="w1",
    )


def made(fact: DatasetRegistered, name: str, **source: object) -> DatasetRegistered:
    """Data made of other data."""
    found = {"origin": f"{name} of it", "parents": (fact.artifact.digest,), **source}
    return fact.model_copy(
        update={
            "artifact": Artifact(digest=digest(name), kind="dataset", size=1),
            "source": Source.model_validate(found),
            "by": "w1",
        }
    )


def shaped(folder: Path) -> Subject:
    """A champion that learnt, under a program's rewards, from filtered answers of another one's
    checkpoint to prompts that a program changed."""
    pool, reward = data(folder), program(folder, "reward", JUDGE)
    change = program(folder, "transform", CHANGE)
    changed = made(pool, "changed", operation={"transform": change.artifact.digest})
    answers = made(
        changed,
        "answers",
        operation={"sample": {"samples": 2}, "found": {"drawn": 8, "right": 5, "kept": 4}},
        sampled=Sampled(experiment="a2", weights=tape.digest("weights a2")),
    )
    kept = made(
        answers,
        "kept",
        operation={
            "filter": {"verified": True, "verifier": reward.artifact.digest},
            "removed": {"verified": 1},
        },
    )
    refused = DatasetRefused(source=changed.source, offered=3, dropped={}, by="w1")
    judged = {"name": "grpo", "reward": reward.artifact.digest}
    return run(
        folder,
        started(),
        *base(),
        pool,
        worker("w1"),
        worker("w2"),
        reward,
        change,
        changed,
        refused,
        *tape.life("a1", "w2", data=(pool.artifact.digest,)),
        *tape.life("a2", "w2", "a1", data=(pool.artifact.digest,)),
        answers,
        kept,
        *tape.life("b1", "w1", confirm=0.6, data=(kept.artifact.digest,), recipe=judged),
        claimed("b1"),
        RunFinished(outcome="champion", champion="b1", reason="the claim is scored"),
    )


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """The run, which no test changes."""
    return shaped(tmp_path_factory.mktemp("told") / "run")


@pytest.fixture(scope="module")
def shown(subject: Subject) -> Page:
    """Its page."""
    return page(subject)


def short(word: str) -> str:
    return digest(word)[7:15]


def test_what_was_done_to_data_is_told_with_its_program_and_its_writer(
    subject: Subject, shown: Page
) -> None:
    reward, change = (digest[7:15] for digest in subject.record.state.programs)
    assert cells(shown, f"dataset-{digest('changed')}")[2] == (
        f"each row made into none, one or several by a program; the program is {change}"
    )
    answers = cells(shown, f"dataset-{digest('answers')}")
    assert answers[1] == f"answers of it, from {short('changed')}"
    assert answers[2].startswith("2 answers drawn to each of up to 200 prompts, temperature 1")
    assert answers[2].endswith("8 drawn, 5 right, 4 kept; the answers are of a2")
    assert cells(shown, f"dataset-{digest('kept')}")[2] == (
        "filtered: only rows that a program does not contradict; dropped 1 as wrong; the program "
        f"is {reward}"
    )


def test_a_program_stands_with_all_that_it_was_used_for(subject: Subject, shown: Page) -> None:
    reward, change = subject.record.state.programs
    row = cells(shown, f"program-{reward}")
    assert row[0] == f"{reward[7:15]} mine {reward}"
    assert row[1] == "reward: judges answers in a training"
    assert row[2].startswith("w1 , self-test of 2 examples event")
    assert row[3].startswith(f"{short('kept')} of w1 event")
    assert row[4] == "b1 of w1"
    row = cells(shown, f"program-{change}")
    assert row[3].startswith(f"{short('changed')} of w1 event")
    assert "one that was refused of w1 event" in row[3]
    assert row[4] == "none"
    assert "answers judged by the program" in cells(shown, "experiment-b1")[2]


def test_the_text_of_a_program_is_text(subject: Subject, shown: Page) -> None:
    texts = shown.by_id("programs").all("pre")
    assert ["".join(map(str, tag.children)) for tag in texts] == [JUDGE.expandtabs(), CHANGE]
    twin = markdown(compose(subject))
    assert '\n        """</pre><script>alert(1)</script>"""\n            return 1.0 # `x`\n' in twin
    assert "\n    def transform(row):\n        return row\n" in twin


def test_who_wrote_answers_stands_in_the_lineage(shown: Page) -> None:
    (table, *_) = shown.by_id("lineage").all("table")
    rows = [[cell.text() for cell in row.all("th") + row.all("td")] for row in table.all("tr")[1:]]
    assert [row[:3] for row in rows] == [
        ["b1", "weights", "base"],
        ["a2", f"answers in {short('answers')}", "a1"],
        ["a1", "weights to a writer of answers", "base"],
        ["base", "weights", "nothing"],
    ]


def test_a_program_whose_bytes_are_gone_is_not_shown(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    added = program(folder, "reward", JUDGE)
    broken = added.model_copy(
        update={"artifact": FolderObjects(folder / "objects").put_bytes("program", b"{}")}
    )
    gone = added.model_copy(
        update={"artifact": Artifact(digest=tape.digest("gone"), kind="program", size=1)}
    )
    text = page(run(folder, worker("w1"), broken, gone)).by_id("programs").text()
    assert "its bytes are no program, not shown." in text
    assert text.count("not shown.") == 2


def test_without_programs_there_is_no_such_section(tmp_path: Path) -> None:
    assert "Programs of agents" not in page(run(tmp_path / "run", *base())).root.text()
