"""Views, generated over all actions and roles: who has none is denied, what is seen is closed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import BaseModel

from rsi_master.app.catalog import catalogue
from rsi_master.app.plugins import recipes
from rsi_master.core.action import Role
from rsi_master.core.contract import Contract
from rsi_master.core.errors import PolicyDenied
from rsi_master.core.model import Value
from rsi_master.core.run import ActionDenied
from rsi_master.core.score import ItemVerdict, SplitScore
from rsi_master.expos.catalogue import Entry, Whole
from rsi_master.programs.sealed.benchmark import Item, Question
from rsi_master.testing.rig import Rig, sketch_contract

ENTRIES: tuple[Entry, ...] = tuple(catalogue(recipes(("sketch",))))
ROLES = (Role.MAIN, Role.WORKER, Role.REVIEWER, Role.OPERATOR)
BLIND = (Role.MAIN, Role.WORKER)
NODES = {Role.MAIN: "main", Role.WORKER: "w1", Role.REVIEWER: "r1", Role.OPERATOR: "operator"}
ID = "00000000-0000-7000-8000-000000000001"
DIGEST = "sha256:" + "0" * 64
PROGRAM = "sha256:" + "1" * 64
SAME = "def transform(row):\n    return row\n"
OPEN = {"data.inspect": {"prompt"}, "experiment.probe": {"prompt", "reference"}}
"""Fields of rows that passed the scan, and of practice questions, which are no items."""
STATEMENT = {"claim": "it holds", "verdict": "inconclusive", "records": ("base",)}
ARGUMENTS: dict[str, dict[str, object]] = {
    "audit.flag": {"experiment": ID, "category": "harness", "reason": "seen"},
    "candidates.read": {},
    "champion.claim": {"experiment": ID},
    "data.add": {"source": "sketch/clean"},
    "data.derive": {"datasets": (DIGEST,)},
    "data.filter": {"dataset": DIGEST, "limit": 5},
    "data.inspect": {"dataset": DIGEST},
    "data.list": {},
    "data.sample": {"dataset": DIGEST},
    "data.transform": {"dataset": DIGEST, "program": PROGRAM},
    "direction.close": {"node": "w1", "reason": "enough"},
    "direction.reopen": {"node": "w1", "reason": "it may still help"},
    "evaluation.compare": {"left": "base", "right": ID},
    "evaluation.verdicts": {"experiment": ID},
    "events.tail": {},
    "experiment.cancel": {"experiment": ID},
    "experiment.inspect": {"experiment": ID},
    "experiment.merge": {"others": (ID,)},
    "experiment.probe": {},
    "experiment.submit": {"recipe": {"name": "sketch"}, "data": DIGEST},
    "program.add": {
        "kind": "transform",
        "title": "same",
        "source": SAME,
        "tests": ({"row": {"prompt": "a"}, "made": ({"prompt": "a"},)},),
    },
    "program.inspect": {"program": PROGRAM},
    "program.list": {},
    "quota.read": {},
    "review.current": {},
    "review.read": {"node": "r1"},
    "review.request": {"question": "which?", "scope": ("w1",)},
    "review.submit": {"findings": (STATEMENT,), "recommendation": "go on"},
    "run.finish": {"reason": "done"},
    "run.guide": {"text": "try less"},
    "run.pause": {"reason": "lunch"},
    "run.resume": {},
    "run.stop": {"reason": "enough"},
    "state.sync": {},
    "worker.create": {"direction": "a", "hypothesis": "b", "task": "c"},
    "worker.current": {},
    "worker.finalize": {"summary": "done"},
    "worker.inspect": {"node": "w1"},
}


def pairs(seen: bool) -> list[tuple[Entry, Role]]:
    return [(e, role) for e in ENTRIES for role in ROLES if (role in e.views) is seen]


def label(value: object) -> str:
    return value.action.name if isinstance(value, Entry) else str(value)


def answers(entry: Entry, role: Role) -> tuple[Any, ...]:
    """The types that the view says it hands out."""
    view = entry.views[role]
    if isinstance(view, Whole):
        return (view.kind,)
    hint = get_type_hints(view)["return"]
    return get_args(hint) or (hint,)


def parts(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from parts(inner)


def reachable(model: type[BaseModel]) -> dict[type[BaseModel], set[str]]:
    """Every model that a value may hold on its way down, with the fields that hold it."""
    found: dict[type[BaseModel], set[str]] = {model: set()}
    todo = [model]
    while todo:
        for field, info in todo.pop().model_fields.items():
            for inner in parts(info.annotation):
                if inner not in found:
                    todo.append(inner)
                found.setdefault(inner, set()).add(field)
    return found


def field_names(model: type[BaseModel]) -> set[str]:
    return {field for known in reachable(model) for field in known.model_fields}


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A run that has a program, a Worker, a review under way, a verification and a scored claim."""
    contract = sketch_contract(policy={"programs": 4})
    rig = Rig(tmp_path_factory.mktemp("rig"), contract, tier="namespaces")
    main = rig.main()
    rig.while_working(lambda: main.act("program.add", **ARGUMENTS["program.add"]))
    rig.score_base()
    rig.add("sketch/scraped")
    data = rig.add()
    worker, name = rig.explored(data)
    rig.review(worker)
    _, again = rig.verified(name)
    rig.main().act("champion.claim", experiment=again)
    rig.settle()
    yield rig
    rig.close()


def test_every_action_has_an_example_here() -> None:
    assert sorted(ARGUMENTS) == sorted(entry.action.name for entry in ENTRIES)


@pytest.mark.parametrize(("entry", "role"), pairs(seen=False), ids=label)
def test_a_role_without_a_view_is_denied_and_the_attempt_recorded(
    rig: Rig, entry: Entry, role: Role
) -> None:
    action = entry.action.name
    before = rig.state.position
    with pytest.raises(PolicyDenied) as denied:
        rig.session(role, NODES[role]).act(action, **ARGUMENTS[action])
    assert denied.value.code == "ROLE"
    events = rig.events()[before + 1 :]
    (fact,) = [event.fact for event in events if isinstance(event.fact, ActionDenied)]
    assert len(events) == 1
    assert (fact.action, fact.decision, fact.rule) == (action, "deny", "role")


@pytest.mark.parametrize(("entry", "role"), pairs(seen=True), ids=label)
def test_an_answer_is_a_closed_value(entry: Entry, role: Role) -> None:
    for answer in answers(entry, role):
        assert issubclass(answer, Value), answer
        assert answer is not Value, f"{entry.action.name} names no type for {role}"
        for part in reachable(answer):
            assert part.model_config.get("extra") == "forbid", part
            assert part.model_config.get("frozen"), part


@pytest.mark.parametrize(("entry", "role"), pairs(seen=True), ids=label)
def test_no_type_of_main_or_a_worker_can_hold_verdicts_confirm_or_holdout(
    entry: Entry, role: Role
) -> None:
    if role not in BLIND:
        return
    for answer in answers(entry, role):
        types = reachable(answer)
        assert ItemVerdict not in types
        assert types.get(SplitScore, set()) <= {"dev", "base_dev", "best_dev"}
        assert not [f for f in field_names(answer) if "confirm" in f or "holdout" in f]


@pytest.mark.parametrize(("entry", "role"), pairs(seen=True), ids=label)
def test_no_type_of_any_role_can_hold_a_sealed_item(entry: Entry, role: Role) -> None:
    for answer in answers(entry, role):
        assert not {Item, Question} & set(reachable(answer))
        shown = {"prompt", "reference", "stem"} & field_names(answer)
        assert shown <= OPEN.get(entry.action.name, set())


def reads() -> list[tuple[Entry, Role]]:
    return [(e, role) for e, role in pairs(seen=True) if e.action.effect == "read"]


def real(rig: Rig, action: str) -> dict[str, object]:
    """The example's arguments with ids of the run."""
    (name, *_) = [e for e in rig.state.experiments if e != "base"]
    programs, datasets = rig.state.programs, rig.state.datasets
    ids = {ID: name, DIGEST: next(iter(datasets)), PROGRAM: next(iter(programs))}
    return {
        key: ids.get(value, value) if isinstance(value, str) else value
        for key, value in ARGUMENTS[action].items()
    }


@pytest.mark.parametrize(("entry", "role"), reads(), ids=label)
def test_what_is_really_answered_holds_no_sealed_text(rig: Rig, entry: Entry, role: Role) -> None:
    action = entry.action.name
    answer = rig.session(role, NODES[role]).act(action, **real(rig, action))
    assert type(answer) in answers(entry, role)
    text = json.dumps(answer.model_dump(mode="json"))
    assert not [item.id for item in rig.items() if json.dumps(item.stem)[1:-1] in text]
    if role in BLIND:
        assert '"split": "confirm"' not in text
        assert '"split": "holdout"' not in text


@pytest.mark.parametrize("role", BLIND)
def test_rounded_feedback_lets_no_exact_score_out(tmp_path: Path, role: Role) -> None:
    contract: Contract = sketch_contract(evaluator={"feedback": "rounded", "feedback_step": 0.25})
    rig = Rig(tmp_path, contract)
    try:
        rig.score_base()
        _, name = rig.explored(rig.add())
        seen = rig.session(role, NODES[role]).act("experiment.inspect", experiment=name)
        exact = rig.state.experiments[name].score("dev")
        assert exact is not None and exact.counts
        shown = seen.model_dump()["dev"]
        assert shown["average"]["value"] in (0.0, 0.25, 0.5, 0.75, 1.0)
        assert shown["counts"] == {}
    finally:
        rig.close()
