"""Laws over a record: each broken by hand gives its flaw, and a good record gives none."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rsi_master.core.action import Amounts
from rsi_master.core.artifact import Artifact
from rsi_master.core.dataset import DatasetRegistered, Sampled, Source
from rsi_master.core.event import Event, Fact
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeRecorded, Window
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import (
    ActionIntended,
    ActionSettled,
    ClaimFailed,
    ClaimOpened,
    ClaimScored,
    RunFinished,
)
from rsi_master.core.score import ClaimResult
from rsi_master.expos.books import CHECKS
from rsi_master.testing import tape
from rsi_master.testing.rig import Rig

PROBED = ProbeRecorded(
    intent="p",
    worker="w1",
    experiment="a",
    window=Window(),
    questions=1,
    right=1,
    outputs=Artifact(digest=tape.digest("outputs"), kind="outputs", size=1),
    weights=tape.digest("weights a"),
    protocol=tape.digest("protocol"),
    seconds=1.5,
)
PROBING = ActionIntended(intent="p", action="experiment.probe", arguments={}, reserve=Amounts())
PAID = ActionSettled(intent="p", outcome="done", spent=Amounts(device_seconds=1.5))
ORDERED = ActionIntended(intent="m", action="data.sample", arguments={}, reserve=Amounts())
MADE = MakingEnded(
    intent="m",
    worker="w1",
    program="data.sample",
    spec=Artifact(digest=tape.digest("job"), kind="job", size=1),
    ending="ok",
    problem=None,
    seconds=2.5,
    tier=None,
    devices=(),
    log=None,
)
WROTE = DatasetRegistered(
    artifact=Artifact(digest=tape.digest("samples"), kind="dataset", size=1),
    source=Source(
        origin="samples of data",
        parents=(tape.digest("data"),),
        sampled=Sampled(experiment="a", weights=tape.digest("weights a")),
    ),
    holds="rows",
    rows=1,
    offered=1,
    dropped={},
    completion_chars=1,
    prompt_chars=1,
    by="w1",
)
MIXED = WROTE.model_copy(
    update={
        "artifact": Artifact(digest=tape.digest("mixed"), kind="dataset", size=1),
        "source": Source(origin="both", parents=(tape.digest("data"), tape.digest("samples"))),
    }
)
VERIFIER = ProgramAdded(
    artifact=Artifact(digest=tape.digest("program"), kind="program", size=1),
    kind="verifier",
    title="judge",
    source_chars=1,
    tests=Artifact(digest=tape.digest("tests"), kind="program", size=1),
    examples=1,
    by="w1",
)
TRANSFORMED = Source(origin="a", operation={"transform": VERIFIER.artifact.digest})
JUDGED = tape.life("b", recipe={"name": "grpo", "reward": VERIFIER.artifact.digest})
BOUGHT = ActionSettled(intent="m", outcome="done", spent=Amounts(device_seconds=2.5))
FINISHED = RunFinished(outcome="champion", champion="b", reason="done")
INTENDED = ActionIntended(intent="i", action="worker.create", arguments={}, reserve=Amounts())
SETTLED = ActionSettled(intent="i", outcome="done")
OPENED = ClaimOpened(experiment="b", intent="c", name="claim-c")
FAILED = ClaimFailed(experiment="b", name="claim-c", reason="gone", spent=Amounts())
GOOD: tuple[Fact, ...] = (
    INTENDED,
    tape.worker("w1"),
    SETTLED,
    *tape.life("a"),
    ORDERED,
    MADE,
    WROTE,
    BOUGHT,
    MIXED,
    *tape.life("b", init="a", data=(tape.digest("mixed"),)),
    PROBING,
    PROBED,
    PAID,
    tape.finalised("w1", "b"),
    OPENED,
    ClaimScored(
        experiment="b",
        name="claim-c",
        result=ClaimResult(
            champion=tape.scored("holdout", 0.6),
            base=tape.scored("holdout", 0.2),
            difference=None,
            weights=tape.digest("weights b"),
            protocol=tape.digest("protocol"),
            seconds=1.0,
        ),
        spent=Amounts(evaluations=2),
    ),
    FINISHED,
)


def flaws(facts: Sequence[Fact]) -> list[str]:
    return flaws_of(tape.events(facts))


def flaws_of(events: Sequence[Event]) -> list[str]:
    return [flaw.code for check in CHECKS for flaw in check(events)]


def without(fact: Fact) -> tuple[Fact, ...]:
    assert fact in GOOD
    return tuple(known for known in GOOD if known != fact)


def instead(fact: Fact, *others: Fact) -> tuple[Fact, ...]:
    assert fact in GOOD
    return tuple(new for known in GOOD for new in (others if known == fact else (known,)))


def test_a_good_record_has_no_flaw() -> None:
    assert flaws(GOOD) == []


def test_a_record_under_way_has_no_flaw_at_any_moment() -> None:
    for count in range(len(GOOD)):
        assert flaws(GOOD[:count]) == [], GOOD[count]


def test_a_run_on_fakes_has_no_flaw(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    try:
        rig.score_base()
        _, name = rig.explored(rig.add())
        _, again = rig.verified(name)
        rig.main().act("champion.claim", experiment=again)
        rig.settle()
        assert flaws_of(rig.events()) == []
    finally:
        rig.close()


END_B = tape.ended("b")
BEFORE_B = GOOD[: GOOD.index(MIXED) + 1]
LEARNS = tape.life("b", data=(tape.digest("mixed"),))
BROKEN: dict[str, tuple[tuple[Fact, ...], str]] = {
    "an outcome without an intent": (without(INTENDED), "OUTCOME_WITHOUT_INTENT"),
    "an outcome twice": (instead(SETTLED, SETTLED, SETTLED), "OUTCOME_WITHOUT_INTENT"),
    "an intent that is never settled": (without(SETTLED), "INTENT_OPEN"),
    "a fence that skips": (
        instead(tape.planned("b"), tape.planned("b", 2)),
        "FENCE",
    ),
    "a fence that stands still": (
        instead(
            tape.attempted("b"),
            tape.attempted("b", ending="lost"),
            tape.planned("b"),
            tape.attempted("b", seconds=0),
        ),
        "FENCE",
    ),
    "two attempts at once": (
        instead(tape.planned("b"), tape.planned("b"), tape.planned("b", 2)),
        "ATTEMPT_TWICE",
    ),
    "an end without a beginning": (without(tape.planned("b")), "ATTEMPT_END"),
    "an attempt that ends twice": (
        instead(tape.attempted("b"), tape.attempted("b"), tape.attempted("b", seconds=0)),
        "ATTEMPT_END",
    ),
    "an attempt that never ends": (
        instead(END_B, tape.planned("b", 2, "evaluate"), END_B),
        "ATTEMPT_OPEN",
    ),
    "an experiment queued twice": (
        instead(tape.queued("a"), tape.queued("a"), tape.queued("a")),
        "EXPERIMENT_TWICE",
    ),
    "an experiment that ends twice": (instead(END_B, END_B, END_B), "EXPERIMENT_TWICE"),
    "an experiment that never ends": (without(END_B), "EXPERIMENT_OPEN"),
    "an end of an unknown experiment": (
        (*GOOD[:-1], tape.ended("z", seconds=0.0), FINISHED),
        "EXPERIMENT_UNKNOWN",
    ),
    "device time that nobody used": (instead(END_B, tape.ended("b", seconds=2.5)), "BOOKS"),
    "device time that is not counted": (instead(END_B, tape.ended("b", seconds=1.5)), "BOOKS"),
    "a start from nowhere": (without(tape.integrity("a")), "LINEAGE"),
    "a start from a flagged one": (
        instead(tape.integrity("a"), tape.integrity("a"), tape.integrity("a", "flagged")),
        "LINEAGE",
    ),
    "a flag that is taken back": (
        instead(tape.integrity("a"), tape.integrity("a", "flagged"), tape.integrity("a")),
        "LINEAGE",
    ),
    "a start above a flagged one": (
        (
            *GOOD[: GOOD.index(END_B) + 1],
            tape.integrity("a", "flagged"),
            *tape.life("c", init="b"),
        ),
        "LINEAGE",
    ),
    "a claim above a flagged one": (
        instead(OPENED, tape.integrity("a", "flagged"), OPENED),
        "LINEAGE",
    ),
    "other weights scored": (
        instead(
            tape.evaluated("b"),
            tape.evaluated("b").model_copy(update={"weights": tape.digest("weights a")}),
        ),
        "WEIGHTS_DIFFER",
    ),
    "other weights claimed": (
        tuple(
            fact.model_copy(
                update={"result": fact.result.model_copy(update={"weights": tape.digest("x")})}
            )
            if isinstance(fact, ClaimScored)
            else fact
            for fact in GOOD
        ),
        "WEIGHTS_DIFFER",
    ),
    "the holdout opened twice": (instead(OPENED, OPENED, OPENED), "CLAIM_TWICE"),
    "a result without an opening": (without(OPENED), "CLAIM_UNOPENED"),
    "a failure of another opening": (
        (*GOOD[:-1], FAILED.model_copy(update={"name": "claim-d"}), FINISHED),
        "CLAIM_UNOPENED",
    ),
    "a probe that is paid with less": (
        instead(PAID, PAID.model_copy(update={"spent": Amounts(device_seconds=1.0)})),
        "BOOKS",
    ),
    "a probe that is paid with less, by an action that failed": (
        instead(
            PAID, PAID.model_copy(update={"outcome": "failed", "spent": Amounts(device_seconds=1)})
        ),
        "BOOKS",
    ),
    "a probe that is never paid": (without(PAID), "BOOKS"),
    "an action that spends without a probe": (without(PROBED), "BOOKS"),
    "weights probed that are not those trained": (
        instead(PROBED, PROBED.model_copy(update={"weights": tape.digest("x")})),
        "WEIGHTS_DIFFER",
    ),
    "a job that is paid with less": (
        instead(BOUGHT, BOUGHT.model_copy(update={"spent": Amounts(device_seconds=1.0)})),
        "BOOKS",
    ),
    "data of other weights than those trained": (
        instead(
            WROTE,
            WROTE.model_copy(
                update={
                    "source": WROTE.source.model_copy(
                        update={"sampled": Sampled(experiment="a", weights=tape.digest("x"))}
                    )
                }
            ),
        ),
        "WEIGHTS_DIFFER",
    ),
    "data of own answers without a job": (without(MADE), "JOB_MISSING"),
    "data of a job that failed": (
        instead(MADE, MADE.model_copy(update={"problem": "it crashed"})),
        "JOB_MISSING",
    ),
    "data of the job of another action": (
        instead(WROTE, BOUGHT, INTENDED, WROTE, SETTLED),
        "JOB_MISSING",
    ),
    "rows made by a program of another kind": (
        instead(WROTE, VERIFIER, WROTE.model_copy(update={"source": TRANSFORMED})),
        "PROGRAM_KIND",
    ),
    "a training judged by a transform": (
        (VERIFIER.model_copy(update={"kind": "transform"}), *JUDGED),
        "PROGRAM_KIND",
    ),
    "data of a flagged one": (instead(WROTE, tape.integrity("a", "flagged"), WROTE), "LINEAGE"),
    "a training on data of a flagged one": (
        (*BEFORE_B, tape.integrity("a", "flagged"), *LEARNS, FINISHED),
        "LINEAGE",
    ),
    "a claim above what wrote its data": (
        (*BEFORE_B, *LEARNS, tape.integrity("a", "flagged"), *GOOD[GOOD.index(OPENED) :]),
        "LINEAGE",
    ),
    "work after the end": ((*GOOD, tape.worker("w2")), "AFTER_END"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_law_is_named(what: str) -> None:
    facts, code = BROKEN[what]
    assert code in flaws(facts)


@pytest.mark.parametrize("what", BROKEN)
def test_a_flaw_says_where_and_what(what: str) -> None:
    for check in CHECKS:
        for flaw in check(tape.events(BROKEN[what][0])):
            assert flaw.where and flaw.what


def test_turns_and_outcomes_may_come_in_after_the_end() -> None:
    late = (tape.turned("o", "w1"), INTENDED, SETTLED)
    assert flaws((*without(INTENDED)[:1], *GOOD[3:], *late)) == []
