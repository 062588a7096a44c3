"""The action `data.filter` carried out: with the benchmark's verifier, or with a program's."""

from collections.abc import Callable
from itertools import repeat

from rsi_master.core.action import Amounts
from rsi_master.core.artifact import AnyRow
from rsi_master.core.budget import ZERO
from rsi_master.core.contract import Contract
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Source
from rsi_master.core.errors import RsiError
from rsi_master.core.sealed import Points
from rsi_master.core.state import State
from rsi_master.domains.data import made, running
from rsi_master.domains.data.actions import capped, known
from rsi_master.domains.data.filters import Filter, sift
from rsi_master.domains.data.made import Made
from rsi_master.domains.data.pool import parse, points, register
from rsi_master.domains.data.programs import is_active
from rsi_master.domains.data.running import Unusable
from rsi_master.expos.catalogue import Desk, Entry, Question, Rule
from rsi_master.expos.standing import (
    every_open,
    verification_stays_affordable,
    wall_clock_is_left,
    walled,
)


def _filter(action: Filter, desk: Desk) -> Made:
    parent = known(desk, action.dataset)
    rows = parse(desk.objects.get_bytes(action.dataset))
    if action.verifier is not None:
        return _by_program(action, desk, parent, rows)
    found = tuple(points(rows, desk.sealed)) if action.verified else tuple(repeat((), len(rows)))
    return Made(_sift(action, desk, parent, rows, found))


def _by_program(
    action: Filter, desk: Desk, parent: DatasetRegistered, rows: tuple[AnyRow, ...]
) -> Made:
    limit = reserve(action, desk.state, desk.contract).device_seconds
    order = running.order(desk, action.verifier or "", action.dataset, limit)
    left = desk.making.ask(order)
    problem, data = None, None
    try:
        found = running.points(left, tuple(len(row.answers()) for row in rows))
        data = _sift(action, desk, parent, rows, found)
    except (Unusable, RsiError) as reason:
        problem = running.reason(reason)
    return Made(data, running.answered(desk, order, left, problem))


def _sift(
    action: Filter,
    desk: Desk,
    parent: DatasetRegistered,
    rows: tuple[AnyRow, ...],
    found: tuple[Points, ...],
) -> DatasetRegistered | DatasetRefused:
    sifted = sift(rows, found, action)
    conditions = action.model_dump(mode="json", exclude={"dataset"}, exclude_defaults=True)
    source = Source(
        origin=parent.source.origin,
        parents=(action.dataset,),
        operation={"filter": conditions, "removed": sifted.removed},
    )
    return register(sifted.kept, source, desk.caller.node, desk.sealed, desk.objects, "copies")


def reserve(action: Filter, state: State, _contract: Contract) -> Amounts:
    """What a program may take over the rows; a filter without one takes no device."""
    dataset = state.datasets.get(action.dataset)
    if action.verifier is None:
        return ZERO
    return Amounts(device_seconds=running.seconds(dataset.rows if dataset else 0))


def _has_answers(question: Question) -> str | None:
    """A dataset that the pool lacks is the handler's to name."""
    fact = question.state.datasets.get(question.action.dataset)
    if fact is None or fact.holds != "prompts" or not question.action.reads_answers():
        return None
    return f"dataset {fact.artifact.digest[:19]} holds prompts, which have no completion to judge"


def _verifier_is_there(question: Question) -> str | None:
    action, opened = question.action, question.state.opened
    if action.verifier is not None:
        return made.program_is(question, action.verifier, "verifier")
    if not action.verified or (opened is not None and opened.sealed.verifier):
        return None
    return "verified needs an open verifier, and the benchmark has none; name a program as verifier"


def _with_program(rule: Callable[[Question], str | None]) -> Callable[[Question], str | None]:
    """A rule for filters that run a program."""
    return lambda question: rule(question) if question.action.verifier else None


ENTRY = Entry(Filter, made.record, made.WRITERS, reserve, _filter, made.used, made.evidence)
RULES = (
    Rule("kinds", Filter, _has_answers),
    Rule("verifier", Filter, _verifier_is_there),
    Rule("walls", Filter, _with_program(walled)),
    Rule("active", Filter, _with_program(is_active)),
    Rule("clock", Filter, _with_program(wall_clock_is_left)),
    Rule("submissions", Filter, capped),
    Rule("screen_cap", Filter, _with_program(made.may_be_told)),
    Rule("verification", Filter, _with_program(verification_stays_affordable(reserve, every_open))),
)
