"""Actions on experiments: submit, inspect, cancel."""

from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar, Union

from pydantic import Field, SerializeAsAny

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.artifact import Digest
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.experiment import (
    BASE,
    CancelAsked,
    Experiment,
    ExperimentQueued,
    Integrity,
    Lifecycle,
    Proof,
    Purpose,
)
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.model import Value
from rsi_master.core.recipe import Recipe, RecipeSpec
from rsi_master.core.score import SplitScore, present
from rsi_master.core.state import State
from rsi_master.domains.training import rules
from rsi_master.domains.training.curve import Point, curve
from rsi_master.domains.training.identity import effective, family
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Rule

ExperimentId = Annotated[str, Field(pattern=r"^(base|[0-9a-f-]{8,36})$")]
Spec = TypeVar("Spec", bound=RecipeSpec)
EVALUATIONS = 2
EVALUATION_SECONDS = 60.0


class Submit(Action, Generic[Spec]):
    """Train from a checkpoint on a dataset by a recipe, then evaluate; returns a handle at once.

    The seed is not the submitter's: the contract fixes it, so that no lucky seed can be picked.
    """

    name = "experiment.submit"
    effect = "work"

    recipe: SerializeAsAny[Spec]
    data: Digest
    init: ExperimentId = BASE


class Inspect(Action):
    """Show one experiment: its state, scores, curve and, for a Reviewer, its whole record."""

    name = "experiment.inspect"
    effect = "read"

    experiment: ExperimentId


class Cancel(Action):
    """Stop an own experiment; what it used stays spent."""

    name = "experiment.cancel"
    effect = "record"

    experiment: ExperimentId


class HandleView(Value):
    """The handle of long work."""

    experiment: str
    effective: Digest


class AttemptView(Value):
    """One attempt of an experiment."""

    job: str
    ending: str
    detail: str
    seconds: float


class WorkerExperimentView(Value):
    """What its Worker (or a successor) sees: aggregates of dev by task, the curve, the log end."""

    id: str
    worker: str
    lifecycle: Lifecycle
    integrity: Integrity
    reason: str
    detail: str
    recipe: dict[str, object]
    init: str
    data: tuple[Digest, ...]
    dev: SplitScore | None
    curve: tuple[Point, ...]
    log: str
    device_seconds: float


class ReviewerExperimentView(Value):
    """The raw record: configuration, provenance, proof, attempts, dev and confirm exactly."""

    id: str
    worker: str
    lifecycle: Lifecycle
    integrity: Integrity
    flag: str
    reason: str
    recipe: dict[str, object]
    family: str
    effective: str
    init: str
    data: tuple[Digest, ...]
    seed: int | None
    purpose: Purpose | None
    proof: Proof | None
    attempts: tuple[AttemptView, ...]
    dev: SplitScore | None
    confirm: SplitScore | None
    curve: tuple[Point, ...]


class MainExperimentView(Value):
    """A summary for planning."""

    id: str
    worker: str
    lifecycle: Lifecycle
    integrity: Integrity
    reason: str
    recipe: dict[str, object]
    family: str
    init: str
    data: tuple[Digest, ...]
    purpose: Purpose | None
    dev: SplitScore | None


class DoneView(Value):
    """The request is recorded."""

    experiment: str
    recorded: str


def _submit(action: Submit[RecipeSpec], desk: Desk) -> Outcome:
    dataset = desk.state.datasets[action.data]
    created = desk.state.graph.nodes[desk.caller.node].created
    assert isinstance(created, WorkerCreated), "the policy admits Workers only"
    verify = created.purpose == "verify"
    policy = desk.contract.policy
    fact = ExperimentQueued(
        experiment=desk.fresh(),
        worker=desk.caller.node,
        recipe=action.recipe.model_dump(mode="json"),
        family=family(action.recipe, dataset),
        effective=effective(desk.state, action.recipe, action.init, (action.data,)),
        init=action.init,
        data=(action.data,),
        rows=dataset.rows,
        seed=policy.seed_of_promotion if verify else desk.contract.seed,
        purpose=created.purpose,
        replicates=created.replicates,
        seconds=action.recipe.device_seconds(dataset.rows),
        intent=desk.intent,
    )
    return Outcome(fact, (fact,), heir=fact.experiment)


def reserve(
    action: Submit[RecipeSpec], state: State, contract: Contract, _recipes: object
) -> Amounts:
    """The upper estimate of training and evaluation."""
    dataset = state.datasets.get(action.data)
    seconds = action.recipe.device_seconds(dataset.rows) if dataset else 0.0
    return Amounts(
        device_seconds=seconds + EVALUATION_SECONDS, evaluations=EVALUATIONS, experiments=1
    )


def _inspect(action: Inspect, desk: Desk) -> Outcome:
    experiment = desk.state.experiments.get(action.experiment)
    if experiment is None:
        raise Misuse("UNKNOWN_EXPERIMENT", f"no experiment {action.experiment!r} in this run")
    return Outcome((experiment, curve(desk.objects, experiment)))


def _cancel(action: Cancel, desk: Desk) -> Outcome:
    experiment = desk.state.experiments.get(action.experiment)
    if experiment is None or experiment.queued is None:
        raise Misuse("UNKNOWN_EXPERIMENT", f"no experiment {action.experiment!r} in this run")
    if experiment.ended is not None:
        raise Misuse("ALREADY_ENDED", f"experiment {action.experiment} is {experiment.lifecycle}")
    fact = CancelAsked(experiment=action.experiment, by=desk.caller.node)
    return Outcome(fact, (fact,))


Record = tuple[Experiment, tuple[tuple[Point, ...], str]]


def _handle(record: ExperimentQueued, _contract: Contract) -> HandleView:
    return HandleView(experiment=record.experiment, effective=record.effective)


def _done(record: CancelAsked, _contract: Contract) -> DoneView:
    return DoneView(experiment=record.experiment, recorded="cancel")


def _worker_view(record: Record, contract: Contract) -> WorkerExperimentView:
    experiment, (points, log) = record
    queued, ended = experiment.queued, experiment.ended
    dev = experiment.score("dev")
    rules_of_feedback = contract.evaluator
    return WorkerExperimentView(
        id=experiment.id,
        worker=experiment.worker(),
        lifecycle=experiment.lifecycle,
        integrity=experiment.integrity,
        reason=ended.reason if ended else "",
        detail=ended.detail if ended else "",
        recipe=queued.recipe if queued else {},
        init=queued.init if queued else "",
        data=queued.data if queued else (),
        dev=present(dev, rules_of_feedback.feedback, rules_of_feedback.feedback_step)
        if dev
        else None,
        curve=points,
        log=log,
        device_seconds=round(experiment.device_seconds(), 3),
    )


def _reviewer_view(record: Record, _contract: Contract) -> ReviewerExperimentView:
    experiment, (points, _log) = record
    queued, ended = experiment.queued, experiment.ended
    return ReviewerExperimentView(
        id=experiment.id,
        worker=experiment.worker(),
        lifecycle=experiment.lifecycle,
        integrity=experiment.integrity,
        flag=experiment.flag,
        reason=ended.reason if ended else "",
        recipe=queued.recipe if queued else {},
        family=queued.family if queued else "base",
        effective=queued.effective if queued else "",
        init=queued.init if queued else "",
        data=queued.data if queued else (),
        seed=queued.seed if queued else None,
        purpose=queued.purpose if queued else None,
        proof=experiment.checkpoint.proof if experiment.checkpoint else None,
        attempts=tuple(
            AttemptView(
                job=a.planned.job,
                ending=a.ended.ending if a.ended else "running",
                detail=a.ended.detail if a.ended else "",
                seconds=round(a.ended.seconds, 3) if a.ended else 0.0,
            )
            for a in experiment.attempts
        ),
        dev=experiment.score("dev"),
        confirm=experiment.score("confirm"),
        curve=points,
    )


def _main_view(record: Record, contract: Contract) -> MainExperimentView:
    experiment, _ = record
    queued, ended = experiment.queued, experiment.ended
    dev = experiment.score("dev")
    form = contract.evaluator
    return MainExperimentView(
        id=experiment.id,
        worker=experiment.worker(),
        lifecycle=experiment.lifecycle,
        integrity=experiment.integrity,
        reason=ended.reason if ended else "",
        recipe=queued.recipe if queued else {},
        family=queued.family if queued else "base",
        init=queued.init if queued else "",
        data=queued.data if queued else (),
        purpose=queued.purpose if queued else None,
        dev=present(dev, form.feedback, form.feedback_step) if dev else None,
    )


def domain(recipes: Sequence[Recipe]) -> Domain:
    """The domain for the installed recipes; `experiment.submit` takes the union of their
    specifications, told apart by name."""
    specs = tuple(recipe.spec for recipe in recipes)
    union = Annotated[Union[specs], Field(discriminator="name")] if len(specs) > 1 else specs[0]  # noqa: UP007
    submit = Submit[union]  # type: ignore[valid-type]
    submit.__name__ = "Submit"
    submit.__doc__ = Submit.__doc__
    return Domain(
        "training",
        (
            Entry(submit, _submit, {Role.WORKER: _handle}, reserve),
            Entry(
                Inspect,
                _inspect,
                {
                    Role.WORKER: _worker_view,
                    Role.REVIEWER: _reviewer_view,
                    Role.MAIN: _main_view,
                    Role.OPERATOR: _reviewer_view,
                },
            ),
            Entry(Cancel, _cancel, {Role.WORKER: _done, Role.OPERATOR: _done}),
        ),
        (
            Rule("active", submit, rules.worker_is_active),
            Rule("clock", submit, rules.wall_clock_is_left),
            Rule("recipe", submit, rules.recipe_is_allowed),
            Rule("data", submit, rules.data_exists),
            Rule("lineage", submit, rules.init_may_be_continued),
            Rule("share", submit, rules.worker_has_experiments_left),
            Rule("repeat", submit, rules.not_a_repeat),
            Rule("replication", submit, rules.replication_is_exact),
            Rule("scope", Inspect, rules.experiment_is_in_sight),
            Rule("owner", Cancel, rules.experiment_is_own),
        ),
    )
