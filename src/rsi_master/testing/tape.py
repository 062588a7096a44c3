"""Facts by short constructors and events in order, for laws over records that no run wrote."""

from collections.abc import Iterable, Sequence

from rsi_master.core.action import OS, Amounts
from rsi_master.core.artifact import Artifact
from rsi_master.core.event import Event, Fact
from rsi_master.core.experiment import (
    AttemptEnded,
    AttemptPlanned,
    CheckpointStored,
    EvaluationRecorded,
    ExperimentEnded,
    ExperimentQueued,
    IntegritySet,
    Proof,
    Purpose,
    Stage,
)
from rsi_master.core.graph import ReviewRequested, ReviewSubmitted, WorkerCreated, WorkerFinalised
from rsi_master.core.job import Ending
from rsi_master.core.run import TurnEnded, TurnRole, TurnStarted
from rsi_master.core.score import NotScored, Scored, Split, SplitScore

CONTRACT = "sha256:" + "c" * 64


def events(facts: Iterable[Fact], start: int = 0) -> tuple[Event, ...]:
    """The facts as consecutive events of the OS, one a second."""
    return tuple(
        Event(position=at, id=f"e{at}", at=float(at), contract=CONTRACT, caller=OS, fact=fact)
        for at, fact in enumerate(facts, start)
    )


def digest(word: str) -> str:
    """A digest-shaped text that differs by the word."""
    return "sha256:" + word.encode().hex().rjust(64, "0")[-64:]


def worker(node: str, purpose: Purpose = "explore", experiments: int = 3) -> WorkerCreated:
    """A direction is given."""
    return WorkerCreated(
        node=node,
        direction="a direction",
        hypothesis="it helps",
        task="try it",
        purpose=purpose,
        predecessors=(),
        data=(),
        recipe=None,
        replicates=None,
        promotion=0,
        experiments=experiments,
    )


def finalised(node: str, best: str | None = None) -> WorkerFinalised:
    """A Worker ends."""
    return WorkerFinalised(node=node, summary="done", cites=(), best=best, by=node)


def requested(node: str, *scope: str) -> ReviewRequested:
    """A review is ordered."""
    return ReviewRequested(node=node, question="which?", scope=scope)


def reported(node: str) -> ReviewSubmitted:
    """A Reviewer reports."""
    return ReviewSubmitted(
        node=node,
        findings=(),
        violations=(),
        regressions=(),
        missing=(),
        recommend=(),
        recommendation="nothing",
        by=node,
    )


def queued(name: str, node: str = "w1", init: str = "base", **more: object) -> ExperimentQueued:
    """A training is submitted; experiments of one `effective` word are repeats."""
    return ExperimentQueued.model_validate(
        {
            "experiment": name,
            "worker": node,
            "recipe": {"name": "sketch"},
            "family": "a family",
            "effective": digest(name),
            "init": init,
            "merges": (),
            "data": (digest("data"),),
            "rows": 10,
            "seed": 0,
            "purpose": "explore",
            "replicates": None,
            "seconds": 10.0,
            "intent": f"intent-{name}",
            **more,
        }
    )


def planned(name: str, fence: int = 1, stage: Stage = "train") -> AttemptPlanned:
    """An attempt is planned."""
    job = f"{name}.{stage[0]}{fence}"
    return AttemptPlanned(experiment=name, stage=stage, fence=fence, job=job, spec=None)


def attempted(
    name: str,
    fence: int = 1,
    stage: Stage = "train",
    ending: Ending = "ok",
    seconds: float = 1.0,
) -> AttemptEnded:
    """An attempt ends."""
    return AttemptEnded(
        experiment=name,
        stage=stage,
        fence=fence,
        job=f"{name}.{stage[0]}{fence}",
        ending=ending,
        detail="",
        seconds=seconds,
        tier="none",
    )


def stored(name: str, fence: int = 1) -> CheckpointStored:
    """A checkpoint is stored whose weights are named after the experiment."""
    return CheckpointStored(
        experiment=name,
        fence=fence,
        artifact=Artifact(digest=digest(f"checkpoint {name}"), kind="checkpoint", size=1),
        proof=Proof(
            steps=1,
            supervised_tokens=1,
            total_tokens=2,
            change={},
            tokenizer_length=None,
            final_loss=None,
            weights=digest(f"weights {name}"),
        ),
        adapter=None,
        metrics=Artifact(digest=digest("metrics"), kind="metrics", size=1),
    )


def scored(split: Split, value: float | None, n: int = 100) -> SplitScore:
    """A score of one task; None is not scored."""
    average = (
        NotScored(reason="unfit")
        if value is None
        else Scored(value=value, low=max(0.0, value - 0.1), high=min(1.0, value + 0.1), n=n)
    )
    return SplitScore(split=split, average=average, tasks={"add": average}, counts={})


def evaluated(
    name: str, confirm: float = 0.5, dev: float | None = None, fence: int = 1
) -> EvaluationRecorded:
    """A checkpoint is scored."""
    return EvaluationRecorded(
        experiment=name,
        fence=fence,
        scores=(scored("dev", confirm if dev is None else dev), scored("confirm", confirm)),
        outputs={},
        weights=digest(f"weights {name}"),
        protocol=digest("protocol"),
    )


def integrity(name: str, word: str = "accepted") -> IntegritySet:
    """Acceptance or a flag."""
    return IntegritySet.model_validate(
        {"experiment": name, "integrity": word, "reason": "seen", "by": "os"}
    )


def ended(
    name: str, lifecycle: str = "finished", seconds: float = 2.0, trials: int = 1
) -> ExperimentEnded:
    """An experiment ends."""
    spent = Amounts(device_seconds=seconds, evaluations=2, experiments=trials)
    return ExperimentEnded.model_validate(
        {
            "experiment": name,
            "lifecycle": lifecycle,
            "reason": "OK",
            "detail": "",
            "spent": spent,
        }
    )


def life(
    name: str, node: str = "w1", init: str = "base", confirm: float = 0.5, **more: object
) -> Sequence[Fact]:
    """All facts of an experiment that went well."""
    return (
        queued(name, node, init, **more),
        planned(name),
        attempted(name),
        stored(name),
        integrity(name),
        planned(name, stage="evaluate"),
        attempted(name, stage="evaluate"),
        evaluated(name, confirm),
        ended(name),
    )


def turn(order: str, node: str, role: TurnRole = "worker") -> TurnStarted:
    """A role is asked."""
    return TurnStarted(order=order, role=role, node=node, trigger="created")


def turned(order: str, node: str, outcome: str = "done", detail: str = "") -> TurnEnded:
    """A turn is over."""
    return TurnEnded.model_validate(
        {"order": order, "node": node, "outcome": outcome, "detail": detail}
    )
