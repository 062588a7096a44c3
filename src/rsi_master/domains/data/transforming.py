"""The action `data.transform`: a dataset out of another by a program."""

from rsi_master.core.action import Action, Amounts
from rsi_master.core.artifact import Digest, kind_of
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.errors import RsiError
from rsi_master.core.sealed import ScanReport
from rsi_master.core.state import State
from rsi_master.domains.data import made, running
from rsi_master.domains.data.actions import capped, known
from rsi_master.domains.data.made import Made
from rsi_master.domains.data.pool import register
from rsi_master.domains.data.programs import is_active
from rsi_master.domains.data.running import Unusable
from rsi_master.expos.catalogue import Desk, Entry, Question, Rule
from rsi_master.expos.screen import repeats
from rsi_master.expos.standing import (
    every_open,
    verification_stays_affordable,
    wall_clock_is_left,
    walled,
)


class Transform(Action):
    """Make a dataset of what a program makes of each row of another: nothing, a row or several, all
    of one kind. What it makes is scanned: a row that is made twice is kept once, and if one repeats
    a sealed item, none is taken and that is counted like such a text. It takes device seconds, and
    is one of the data submissions that the contract allows.
    """

    name = "data.transform"
    effect = "record"

    dataset: Digest
    program: Digest


def _transform(action: Transform, desk: Desk) -> Made:
    parent = known(desk, action.dataset)
    limit = reserve(action, desk.state, desk.contract).device_seconds
    order = running.order(desk, action.program, action.dataset, limit)
    left = desk.making.ask(order)
    problem, data = None, None
    try:
        several = running.rows(left, parent.rows)
        source = Source(
            origin=parent.source.origin,
            parents=(action.dataset,),
            operation={"transform": action.program},
        )
        rows = [row for one in several for row in one]
        if rows:
            # Before the scan: which kinds are left after it would tell what it dropped.
            kind_of(source.origin, rows)
        data = register(rows, source, desk.caller.node, desk.sealed, desk.objects, "whole")
    except (Unusable, RsiError) as reason:
        problem = running.reason(reason)
    ran = running.answered(desk, order, left, problem)
    return Made(data, running.caught(desk, ran) if _repeats(data) else ran)


def _repeats(data: DatasetRegistered | DatasetRefused | None) -> bool:
    """Whether the set was refused since a row of it repeats a sealed item."""
    return isinstance(data, DatasetRefused) and repeats(ScanReport(kept=(), dropped=data.dropped))


def reserve(action: Transform, state: State, _contract: Contract) -> Amounts:
    """What the program may take over the rows; it pays what it used."""
    dataset = state.datasets.get(action.dataset)
    return Amounts(device_seconds=running.seconds(dataset.rows if dataset else 0))


def _is_a_transform(question: Question) -> str | None:
    return made.program_is(question, question.action.program, "transform")


ENTRY = Entry(Transform, made.record, made.WRITERS, reserve, _transform, made.used, made.evidence)
RULES = (
    Rule("program", Transform, _is_a_transform),
    Rule("walls", Transform, walled),
    Rule("active", Transform, is_active),
    Rule("clock", Transform, wall_clock_is_left),
    Rule("submissions", Transform, capped),
    Rule("screen_cap", Transform, made.may_be_told),
    Rule("verification", Transform, verification_stays_affordable(reserve, every_open)),
)
