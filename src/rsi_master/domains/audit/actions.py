"""Adjudication: a person flags an experiment; the flag taints all that continues it, and all that
learnt from its answers."""

from typing import Literal

from rsi_master.core.action import Action, Role, Text
from rsi_master.core.contract import Contract
from rsi_master.core.errors import Misuse
from rsi_master.core.experiment import BASE, IntegritySet
from rsi_master.core.model import Value
from rsi_master.expos.catalogue import Desk, Domain, Entry, Outcome

Category = Literal[
    "weight_provenance",
    "data_provenance",
    "teacher_authorisation",
    "decoding",
    "stopping",
    "prompt_template",
    "harness",
    "test_access",
    "sample_inclusion",
    "repeated_selection",
    "metric_attribution",
    "failure_disclosure",
]


class Flag(Action):
    """Flag an experiment as violating the contract. It stays in record and denominator and is
    never selected; a flag cannot be taken back."""

    name = "audit.flag"
    effect = "record"

    experiment: str
    category: Category
    reason: Text


class FlaggedView(Value):
    """The flag is recorded."""

    experiment: str
    reason: str


def _flag(action: Flag, desk: Desk) -> Outcome:
    if action.experiment == BASE or action.experiment not in desk.state.experiments:
        raise Misuse("UNKNOWN_EXPERIMENT", f"no experiment {action.experiment!r} in this run")
    fact = IntegritySet(
        experiment=action.experiment,
        integrity="flagged",
        reason=f"{action.category}: {action.reason}",
        by=desk.caller.node,
    )
    return Outcome(fact, (fact,))


def _flagged(record: IntegritySet, _contract: Contract) -> FlaggedView:
    return FlaggedView(experiment=record.experiment, reason=record.reason)


DOMAIN = Domain("audit", (Entry(Flag, _flag, {Role.OPERATOR: _flagged}),))
