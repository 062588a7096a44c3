"""Records that no run wrote, read back, and the pages of their reports."""

from collections.abc import Sequence
from pathlib import Path

from rsi_master.adapters.store.objects import FolderObjects
from rsi_master.adapters.store.sqlite import SqliteEvents
from rsi_master.app.folder import RunFolder
from rsi_master.app.home import Home
from rsi_master.core.action import OS, Amounts, Caller, Role
from rsi_master.core.artifact import Row
from rsi_master.core.contract import parse
from rsi_master.core.dataset import DatasetRegistered, Source
from rsi_master.core.event import Event, Fact
from rsi_master.core.graph import (
    DirectionClosed,
    ReviewRequested,
    ReviewSubmitted,
    Statement,
    WorkerCreated,
)
from rsi_master.core.run import (
    ActionDenied,
    ClaimOpened,
    ClaimScored,
    FinishAsked,
    OwnerStarted,
    RunFinished,
)
from rsi_master.core.score import ClaimResult, PairedDifference
from rsi_master.domains.data.pool import render
from rsi_master.interfaces.report.compose import compose
from rsi_master.interfaces.report.html import html
from rsi_master.interfaces.report.subject import Subject
from rsi_master.testing import tape
from rsi_master.testing.page import Page

CONTRACT = """
name = "told"
target = "answer questions"
[base]
digest = "sha256:{zeros}"
[budget]
device_seconds = 100
wall_seconds = 900
evaluations = 40
experiments = 12
[policy]
recipes = ["sft"]
sources = ["nano/direct", "nano/scraped"]
""".format(zeros="0" * 64)
MAIN = Caller(role=Role.MAIN, node="main", actor="playbook")
WORKER = Caller(role=Role.WORKER, node="w1", actor="playbook")
ROWS = tuple(Row(prompt=f"what is {n}?", completion=f" it is\n{n}") for n in range(5))
Told = Fact | tuple[Caller, Fact]


def worker(node: str, after: Sequence[str] = (), **more: object) -> WorkerCreated:
    """A direction is given."""
    return WorkerCreated.model_validate(
        {
            "node": node,
            "direction": f"direction of {node}",
            "hypothesis": "it helps",
            "task": "try it",
            "purpose": "explore",
            "predecessors": tuple(after),
            "data": (),
            "recipe": None,
            "replicates": None,
            "promotion": 0,
            "experiments": 2,
            **more,
        }
    )


def run(folder: Path, *told: Told) -> Subject:
    """A run folder with those facts as its ledger, read back."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "contract.toml").write_text(CONTRACT, encoding="utf-8")
    (folder / "run.id").write_text("told-1\n", encoding="utf-8")
    contract = parse(CONTRACT, "contract").digest()
    pairs = [one if isinstance(one, tuple) else (OS, one) for one in told]
    events = [
        Event(position=at, id=f"e{at}", at=100.0 + at, contract=contract, caller=who, fact=fact)
        for at, (who, fact) in enumerate(pairs)
    ]
    store = SqliteEvents(RunFolder(folder).ledger)
    store.append([event.to_bytes() for event in events])
    store.close()
    return Subject.of(RunFolder(folder), Home(folder.parent / "home"))


def base() -> tuple[Fact, ...]:
    """The base is scored."""
    return (
        tape.planned("base", stage="evaluate"),
        tape.attempted("base", stage="evaluate", seconds=3.0),
        tape.evaluated("base", confirm=0.3, dev=0.25),
        tape.ended("base", seconds=3.0, trials=0),
    )


def data(folder: Path, origin: str = "nano/direct") -> DatasetRegistered:
    """Rows enter the pool."""
    folder.mkdir(parents=True, exist_ok=True)
    return DatasetRegistered(
        artifact=FolderObjects(folder / "objects").put_bytes("dataset", render(ROWS)),
        source=Source(origin=origin),
        holds="rows",
        rows=len(ROWS),
        offered=9,
        dropped={"SEALED_PROMPT": 4},
        completion_chars=10,
        prompt_chars=10,
        by="main",
    )


def started(tier: str = "namespaces") -> OwnerStarted:
    return OwnerStarted.model_validate({"resumed": False, "tier": tier, "platform": "linux"})


def report(node: str, *scope: str) -> tuple[Fact, Fact]:
    """A review of the Workers, which recommends `a2`."""
    found = Statement(claim="a2 is ahead", verdict="supported", records=("a2", "nowhere"))
    return (
        ReviewRequested(node=node, question="which is better?", scope=scope),
        ReviewSubmitted(
            node=node,
            findings=(found,),
            violations=(),
            regressions=("b1 forgot sums",),
            missing=(),
            recommend=("a2",),
            recommendation="train it again",
            by=node,
        ),
    )


def claimed(name: str, low: float = 0.1) -> ClaimScored:
    """The holdout was opened."""
    difference = PairedDifference(mean=0.2, low=low, high=0.3, p=0.01, n=100, discordant=40)
    return ClaimScored(
        experiment=name,
        name="claim-1",
        result=ClaimResult(
            champion=tape.scored("holdout", 0.55),
            base=tape.scored("holdout", 0.35),
            difference=difference,
            weights=tape.digest(f"weights {name}"),
            protocol=tape.digest("protocol"),
            seconds=4.0,
        ),
        spent=Amounts(device_seconds=4.0, evaluations=2),
    )


def whole(folder: Path, tier: str = "namespaces") -> Subject:
    """A run with two directions, a review, a verification and a champion."""
    pool = data(folder)
    digest = (pool.artifact.digest,)
    opened = ClaimOpened(experiment="v1", intent="i", name="claim-1")
    denied = ActionDenied(
        action="experiment.submit", arguments={}, decision="deny", rule="repeat", reason="again"
    )
    return run(
        folder,
        started(tier),
        *base(),
        (MAIN, pool),
        (MAIN, worker("w1")),
        (MAIN, worker("w2")),
        *tape.life("a1", "w1", confirm=0.4, data=digest),
        *tape.life("a2", "w1", init="a1", confirm=0.6, data=digest),
        (WORKER, denied),
        (WORKER, tape.finalised("w1", "a2")),
        *tape.life("b1", "w2", confirm=0.5, data=digest),
        *tape.life("b2", "w2", confirm=0.9, data=digest),
        tape.integrity("b2", "flagged"),
        tape.finalised("w2", "b1"),
        *report("r1", "w1", "w2"),
        (MAIN, DirectionClosed(node="w2", reason="beaten")),
        (MAIN, worker("w3", ["w1"], purpose="verify", replicates="a2")),
        *tape.life(
            "v0", "w3", confirm=0.45, data=digest, purpose="verify", seed=1009, replicates="a1"
        ),
        *tape.life("v1", "w3", "v0", 0.58, data=digest, purpose="verify", replicates="a2"),
        tape.finalised("w3", "v1"),
        (MAIN, opened),
        claimed("v1"),
        (MAIN, FinishAsked(reason="the claim is scored")),
        RunFinished(outcome="champion", champion="v1", reason="the claim is scored"),
    )


def page(subject: Subject) -> Page:
    """The page, of which every reference leads somewhere within it."""
    found = Page(html(compose(subject)))
    ids = found.ids()
    assert len(ids) == len(set(ids))
    assert found.references() <= {f"#{name}" for name in ids}
    return found


def cells(found: Page, anchor: str) -> list[str]:
    return [tag.text() for tag in found.by_id(anchor).all() if tag.name in ("td", "th")]
