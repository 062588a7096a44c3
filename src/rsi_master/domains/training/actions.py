"""Actions on experiments: submit, merge, inspect, cancel, and the probe that `probing` adds."""

from collections.abc import Sequence
from typing import Annotated, Generic, TypeVar, Union

from pydantic import Field, SerializeAsAny

from rsi_master.core.action import Action, Amounts, Role
from rsi_master.core.artifact import Digest
from rsi_master.core.budget import reservation
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.experiment import BASE, CancelAsked, ExperimentId, ExperimentQueued
from rsi_master.core.graph import WorkerCreated
from rsi_master.core.lineage import ancestors
from rsi_master.core.recipe import Recipe, RecipeSpec
from rsi_master.core.state import State
from rsi_master.domains.training import probing, rules, views
from rsi_master.domains.training.curve import curve
from rsi_master.domains.training.identity import OWN_LINEAGE, effective, family
from rsi_master.domains.training.merge import MergeSpec
from rsi_master.expos import standing
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome, Rule

Spec = TypeVar("Spec", bound=RecipeSpec)


class Submit(Action, Generic[Spec]):
    """Train from a checkpoint on a dataset by a recipe, then evaluate; returns a handle at once.

    The seed is not the submitter's: the contract fixes it, so that no lucky seed can be picked.
    Some recipes train on worked rows as well, the demonstrations.
    """

    name = "experiment.submit"
    effect = "work"

    recipe: SerializeAsAny[Spec]
    data: Digest
    demonstrations: Digest | None = None
    init: ExperimentId = BASE

    def datasets(self) -> tuple[Digest, ...]:
        """The data, and the demonstrations if there are any."""
        return (self.data, self.demonstrations) if self.demonstrations else (self.data,)

    def parents(self) -> tuple[str, ...]:
        """The checkpoint that is continued."""
        return (self.init,)


class Merge(Action):
    """Join checkpoints of one's own lineage in weight space, then evaluate; returns a handle at
    once. `linear` takes their mean; `task_arithmetic` and `ties` add to `init` what the others
    changed of it.
    """

    name = "experiment.merge"
    effect = "work"

    recipe: MergeSpec = MergeSpec()
    init: ExperimentId = BASE
    others: Annotated[tuple[ExperimentId, ...], Field(min_length=1, max_length=7)]

    def datasets(self) -> tuple[Digest, ...]:
        """None."""
        return ()

    def parents(self) -> tuple[str, ...]:
        """All that is joined."""
        return (self.init, *self.others)


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
    return _queued(action, desk, dataset.source.origin, dataset.rows)


def _merge(action: Merge, desk: Desk) -> Outcome:
    return _queued(action, desk, OWN_LINEAGE, rows=0)


def _queued(action: Submit[RecipeSpec] | Merge, desk: Desk, origin: str, rows: int) -> Outcome:
    created = desk.state.graph.nodes[desk.caller.node].created
    assert isinstance(created, WorkerCreated), "the policy admits Workers only"
    verify = created.purpose == "verify"
    policy = desk.contract.policy
    digest = effective(desk.state, action.recipe, action.parents(), action.datasets())
    fact = ExperimentQueued(
        experiment=desk.fresh(),
        worker=desk.caller.node,
        recipe=action.recipe.model_dump(mode="json"),
        family=family(action.recipe, origin),
        effective=digest,
        init=action.init,
        merges=action.parents()[1:],
        data=action.datasets(),
        rows=rows,
        seed=policy.promotion_seeds()[created.promotion] if verify else desk.contract.seed,
        purpose=created.purpose,
        replicates=_original(desk.state, created, digest),
        seconds=_training(action.recipe, rows, desk.state).device_seconds,
        intent=desk.intent,
    )
    return Outcome(fact, (fact,), heir=fact.experiment)


def _original(state: State, created: WorkerCreated, digest: str) -> str | None:
    """Of the lineage that a verification trains again, the experiment that this one repeats."""
    if created.replicates is None:
        return None
    several = (created.replicates, *ancestors(state, created.replicates))
    trained = ((name, state.experiments[name].queued) for name in several)
    return next(name for name, queued in trained if queued and queued.effective == digest)


def reserve(action: Submit[RecipeSpec], state: State, _contract: Contract) -> Amounts:
    """The upper estimate of training and evaluation."""
    dataset = state.datasets.get(action.data)
    rows = dataset.rows if dataset else 0
    return state.costs.scoring.plus(_training(action.recipe, rows, state))


def reserve_merge(action: Merge, state: State, _contract: Contract) -> Amounts:
    """The upper estimate of merging and evaluation."""
    return state.costs.scoring.plus(_training(action.recipe, 0, state))


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
            Entry(Merge, _merge, {Role.WORKER: views.handle}, reserve_merge),
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
            probing.ENTRY,
        ),
        (
            *(rule for one in (submit, Merge) for rule in _before(one)),
            Rule("recipe", submit, rules.recipe_is_allowed),
            Rule("merging", Merge, rules.merging_is_allowed),
            Rule("others", Merge, rules.merged_ones_differ),
            Rule("data", submit, rules.data_exists),
            Rule("taint", submit, rules.data_is_untainted),
            Rule("kind", submit, rules.data_is_of_its_kind),
            Rule("demonstrations", submit, rules.demonstrations_have_a_use),
            Rule("verifier", submit, rules.verifier_is_there),
            Rule("judge", submit, rules.judge_is_there),
            Rule("walls", submit, rules.judge_is_walled),
            *(rule for one in (submit, Merge) for rule in _after(one)),
            Rule("scope", Inspect, rules.experiment_is_in_sight),
            Rule("owner", Cancel, rules.experiment_is_own),
            *probing.RULES,
        ),
    )


def _before(action: type[Action]) -> tuple[Rule, ...]:
    """What is asked of trainings and merges alike before their own rules."""
    return (
        Rule("active", action, standing.worker_is_active),
        Rule("clock", action, standing.wall_clock_is_left),
    )


def _after(action: type[Action]) -> tuple[Rule, ...]:
    """What is asked of both once their inputs are known to exist."""
    return (
        Rule("lineage", action, rules.inits_may_be_continued),
        Rule("share", action, rules.worker_has_experiments_left),
        Rule("verification", action, rules.verification_stays_affordable),
        Rule("repeat", action, rules.not_a_repeat),
        Rule("replication", action, rules.replication_is_exact),
    )
