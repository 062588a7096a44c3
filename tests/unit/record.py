"""A small run by hand that keeps every law: w1 explores, samples, transforms and probes, w2
verifies what w1 found best, and the claim shows a gain. `OBJECTS` holds what jobs were told."""

from collections.abc import Iterable

from rsi_master.core.action import Amounts
from rsi_master.core.artifact import Artifact
from rsi_master.core.canonical import encode
from rsi_master.core.dataset import DatasetRegistered, Sampled, Source
from rsi_master.core.event import Fact
from rsi_master.core.experiment import AttemptPlanned, ExperimentQueued
from rsi_master.core.job import Input, Job, Resources
from rsi_master.core.making import MakingEnded
from rsi_master.core.probe import ProbeRecorded, Window
from rsi_master.core.program import ProgramAdded
from rsi_master.core.run import (
    ActionIntended,
    ActionSettled,
    ClaimOpened,
    ClaimScored,
    FinishAsked,
    OwnerStarted,
    RunFinished,
    RunOpened,
)
from rsi_master.core.score import ClaimResult, PairedDifference
from rsi_master.core.sealed import SealedSet
from rsi_master.testing import tape
from rsi_master.testing.rig import sketch_contract
from rsi_master.testing.stores import MemoryObjects

CONTRACT = sketch_contract(policy={"programs": 1}, research={"probes_per_worker": 1})
FRESH = CONTRACT.policy.seed_of_promotion
OBJECTS = MemoryObjects()
DATA, SAMPLES, MIXED, SHORT, PROGRAM = map(
    tape.digest, ("data", "samples", "mixed", "short", "program")
)


def intended(intent: str, action: str) -> ActionIntended:
    """An action is allowed."""
    return ActionIntended(intent=intent, action=action, arguments={}, reserve=Amounts())


def settled(intent: str, seconds: float = 0.0, heir: str | None = None) -> ActionSettled:
    """It is done, and took so long."""
    spent = Amounts(device_seconds=seconds)
    return ActionSettled(intent=intent, outcome="done", spent=spent, heir=heir)


def acted(intent: str, action: str, *facts: Fact, seconds: float = 0.0) -> tuple[Fact, ...]:
    """An action from its intent to its outcome."""
    return (intended(intent, action), *facts, settled(intent, seconds))


def specified(
    name: str, program: str, config: dict[str, object], inputs: Iterable[str]
) -> Artifact:
    """The specification of a job with those inputs by digest."""
    job = Job(
        name=name,
        program=program,
        config=config,
        inputs=tuple(Input(name=f"input-{at}", digest=one) for at, one in enumerate(inputs)),
        resources=Resources(seconds=10.0),
    )
    return OBJECTS.put_bytes("job", encode(job.model_dump(mode="json")))


def made(intent: str, program: str, *inputs: str, seconds: float = 2.5) -> MakingEnded:
    """A job of an action has ended."""
    return MakingEnded(
        intent=intent,
        worker="w1",
        program=program,
        spec=specified(f"make-{intent}", program, {}, inputs),
        ending="ok",
        problem=None,
        seconds=seconds,
        tier=None,
        devices=(),
        log=None,
    )


def registered(digest: str, source: Source) -> DatasetRegistered:
    """Rows are data."""
    return DatasetRegistered(
        artifact=Artifact(digest=digest, kind="dataset", size=1),
        source=source,
        holds="rows",
        rows=1,
        offered=1,
        dropped={},
        completion_chars=1,
        prompt_chars=1,
        by="w1",
    )


def checkpoint(name: str) -> str:
    """The artifact of an experiment, or of the base."""
    return tape.digest("base" if name == "base" else f"checkpoint {name}")


def planned(told: ExperimentQueued) -> AttemptPlanned:
    """The first attempt to train, with the specification of its job."""
    first = tape.planned(told.experiment)
    config = {"spec": told.recipe, "seed": told.seed}
    inputs = (*map(checkpoint, told.parents()), *told.data)
    spec = specified(first.job, str(told.recipe["name"]), config, inputs)
    return first.model_copy(update={"spec": spec})


def lived(told: ExperimentQueued, confirm: float) -> tuple[Fact, ...]:
    """An experiment from its submission to its end."""
    name = told.experiment
    return (
        intended(told.intent, "experiment.submit"),
        told,
        settled(told.intent, heir=name),
        planned(told),
        *tape.life(name, confirm=confirm)[2:],
    )


def again(name: str, original: ExperimentQueued, init: str) -> ExperimentQueued:
    """The verification of an experiment, by w2 on the fresh seed."""
    changed = {
        "experiment": name,
        "worker": "w2",
        "init": init,
        "seed": FRESH,
        "purpose": "verify",
        "replicates": original.experiment,
        "intent": f"intent-{name}",
    }
    return original.model_copy(update=changed)


OPENING = RunOpened(
    run="run",
    contract=Artifact(digest=tape.digest("contract"), kind="contract", size=1),
    base=Artifact(digest=checkpoint("base"), kind="base", size=1),
    parameters=1,
    sealed=SealedSet(
        benchmark="sketch",
        digest=tape.digest("set"),
        protocol=tape.digest("protocol"),
        base=tape.digest("weights base"),
        openings=1,
        sizes={"dev": 1, "confirm": 1, "holdout": 1},
        tasks=("add",),
        sources=CONTRACT.policy.sources,
    ),
    tier="none",
    recipes={},
    versions={},
    platform="here",
)
ADDED = registered(DATA, Source(origin="sketch/clean"))
EXPLORER = tape.worker("w1")
QUEUED_A = tape.queued("a", data=(DATA,))
MADE = made("m", "data.sample", checkpoint("a"), DATA)
WROTE = registered(
    SAMPLES,
    Source(
        origin="samples of sketch/clean",
        parents=(DATA,),
        sampled=Sampled(experiment="a", weights=tape.digest("weights a")),
    ),
)
BOUGHT = settled("m", 2.5)
DERIVED = registered(MIXED, Source(origin="both", parents=(DATA, SAMPLES)))
TESTED = made("t", "code", PROGRAM, tape.digest("examples"))
ADDED_PROGRAM = ProgramAdded(
    artifact=Artifact(digest=PROGRAM, kind="program", size=1),
    kind="transform",
    title="shorten",
    source_chars=1,
    tests=Artifact(digest=tape.digest("tests"), kind="program", size=1),
    examples=1,
    by="w1",
)
RAN = made("r", "code", PROGRAM, DATA)
TRANSFORMED = registered(
    SHORT, Source(origin="sketch/clean", parents=(DATA,), operation={"transform": PROGRAM})
)
QUEUED_B = tape.queued("b", init="a", data=(MIXED,))
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
PAID = settled("p", 1.5)
VERIFIER = tape.worker("w2", "verify", 2).model_copy(update={"replicates": "b"})
QUEUED_C = again("c", QUEUED_A, "base")
QUEUED_D = again("d", QUEUED_B, "c")
INTENDED, SETTLED = intended("i", "worker.create"), settled("i")
OPENED = ClaimOpened(experiment="d", intent="o", name="claim-o")
SCORED = ClaimScored(
    experiment="d",
    name="claim-o",
    result=ClaimResult(
        champion=tape.scored("holdout", 0.6),
        base=tape.scored("holdout", 0.2),
        difference=PairedDifference(mean=0.4, low=0.3, high=0.5, p=0.01, n=100, discordant=40),
        weights=tape.digest("weights d"),
        protocol=tape.digest("protocol"),
        seconds=1.0,
    ),
    spent=Amounts(device_seconds=1.0, evaluations=2),
)
FINISHED = RunFinished(outcome="champion", champion="d", reason="done")
GOOD: tuple[Fact, ...] = (
    OPENING,
    OwnerStarted(resumed=False, tier="none", platform="here"),
    tape.planned("base", stage="evaluate"),
    tape.attempted("base", stage="evaluate"),
    tape.evaluated("base", 0.2),
    tape.ended("base", seconds=1.0, trials=0),
    *acted("s", "data.add", ADDED),
    INTENDED,
    EXPLORER,
    SETTLED,
    *lived(QUEUED_A, 0.4),
    intended("m", "data.sample"),
    MADE,
    WROTE,
    BOUGHT,
    *acted("x", "data.derive", DERIVED),
    *acted("t", "program.add", TESTED, ADDED_PROGRAM, seconds=2.5),
    *acted("r", "data.transform", RAN, TRANSFORMED, seconds=2.5),
    *lived(QUEUED_B, 0.5),
    intended("p", "experiment.probe"),
    PROBED,
    PAID,
    *acted("f", "worker.finalize", tape.finalised("w1", "b")),
    *acted("v", "worker.create", VERIFIER),
    *lived(QUEUED_C, 0.4),
    *lived(QUEUED_D, 0.5),
    *acted("g", "worker.finalize", tape.finalised("w2", "d")),
    *acted("o", "champion.claim", OPENED),
    SCORED,
    *acted("e", "run.finish", FinishAsked(reason="done")),
    FINISHED,
)


def without(*facts: Fact) -> tuple[Fact, ...]:
    """The run in which these never came."""
    assert all(fact in GOOD for fact in facts)
    return tuple(known for known in GOOD if known not in facts)


def instead(fact: Fact, *others: Fact) -> tuple[Fact, ...]:
    """The run with others in the place of one fact."""
    assert fact in GOOD
    return tuple(new for known in GOOD for new in (others if known == fact else (known,)))


def changed(fact: Fact, **fields: object) -> tuple[Fact, ...]:
    """The run with other fields of one fact."""
    return instead(fact, fact.model_copy(update=fields))


def until(fact: Fact) -> tuple[Fact, ...]:
    """The run up to a fact, with it."""
    return GOOD[: GOOD.index(fact) + 1]
