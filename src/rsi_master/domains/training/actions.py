"""Actions on experiments: submit, inspect, cancel."""

from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar, Union

from pydantic import Field, SerializeAsAny

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.artifact import Digest
from rsi_master.core.budget import reservation
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.experiment import (
    BASE,
    CancelAsked,
    ExperimentQueued,
)
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.recipe import Recipe, RecipeSpec
from rsi_master.core.state import State
from rsi_master.domains.training import rules, views
from rsi_master.domains.training.curve import curve
from rsi_master.domains.training.identity import effective, family
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Rule

ExperimentId = Annotated[str, Field(pattern=r"^(base|[0-9a-f-]{8,36})$")]
Spec = TypeVar("Spec", bound=RecipeSpec)


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
        seconds=_training(action.recipe, dataset.rows, desk.state).device_seconds,
        intent=desk.intent,
    )
    return Outcome(fact, (fact,), heir=fact.experiment)


def reserve(action: Submit[RecipeSpec], state: State, _contract: Contract) -> Amounts:
    """The upper estimate of training and evaluation."""
    dataset = state.datasets.get(action.data)
    rows = dataset.rows if dataset else 0
    return state.costs.scoring.plus(_training(action.recipe, rows, state))


def _training(recipe: RecipeSpec, rows: int, state: State) -> Amounts:
    """What a recipe says that it needs, checked: it comes from an installed package."""
    seconds = recipe.device_seconds(rows, state.parameters())
    return reservation(Amounts(device_seconds=seconds, experiments=1))


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
            Entry(submit, _submit, {Role.WORKER: views.handle}, reserve),
            Entry(
                Inspect,
                _inspect,
                {
                    Role.WORKER: views.worker_view,
                    Role.REVIEWER: views.reviewer_view,
                    Role.MAIN: views.main_view,
                    Role.OPERATOR: views.reviewer_view,
                },
            ),
            Entry(Cancel, _cancel, {Role.WORKER: views.done, Role.OPERATOR: views.done}),
        ),
        (
            Rule("active", submit, rules.worker_is_active),
            Rule("clock", submit, rules.wall_clock_is_left),
            Rule("recipe", submit, rules.recipe_is_allowed),
            Rule("data", submit, rules.data_exists),
            Rule("kind", submit, rules.data_is_of_its_kind),
            Rule("lineage", submit, rules.init_may_be_continued),
            Rule("share", submit, rules.worker_has_experiments_left),
            Rule("verification", submit, rules.verification_stays_affordable),
            Rule("repeat", submit, rules.not_a_repeat),
            Rule("replication", submit, rules.replication_is_exact),
            Rule("scope", Inspect, rules.experiment_is_in_sight),
            Rule("owner", Cancel, rules.experiment_is_own),
        ),
    )
