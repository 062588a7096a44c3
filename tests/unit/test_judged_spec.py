"""Recipes with an agent's program as their judge: what they are, and which may be submitted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from rsi_master.core.action import OS
from rsi_master.core.errors import PolicyDenied
from rsi_master.core.recipe import effective_digest
from rsi_master.core.run import OwnerStarted
from rsi_master.domains.training.grpo import GrpoSpec
from rsi_master.domains.training.lifecycle import RecipeTrainer
from rsi_master.domains.training.rejection import RejectionSpec
from rsi_master.domains.training.views import HandleView
from rsi_master.testing.rig import Rig, sketch_contract

PROGRAM = "sha256:" + "1" * 64
OTHER = "sha256:" + "2" * 64
SMALL = {"rounds": 1, "prompts": 1, "samples": 1, "answer_tokens": 1, "steps": 1, "batch_size": 1}
VERIFY = "def verify(prompt, answer):\n    return 1\n"
SAME = "def transform(row):\n    return row\n"


@pytest.mark.parametrize(("spec", "field"), [(RejectionSpec, "verifier"), (GrpoSpec, "reward")])
def test_the_program_is_part_of_what_a_training_is(spec: Any, field: str) -> None:
    plain, judged, other = spec(), spec(**{field: PROGRAM}), spec(**{field: OTHER})
    assert field not in plain.effective()
    assert judged.effective()[field] == PROGRAM
    digests = {effective_digest(one, "base", ["data"]) for one in (plain, judged, other)}
    assert len(digests) == 3
    assert (plain.judge, judged.judge) == (None, PROGRAM)
    assert judged.device_seconds(10, 1000) > plain.device_seconds(10, 1000)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    recipes = ["sketch", "rejection", "grpo"]
    policy = {"programs": 3, "recipes": recipes, "sources": ["sketch/prompts"]}
    made = Rig(tmp_path, sketch_contract(policy=policy), tier="namespaces")
    yield made
    made.close()


def add(rig: Rig, kind: str, source: str, **test: object) -> str:
    given = {"kind": kind, "title": "a", "source": source, "tests": (test,)}
    main = rig.main()
    return cast(str, cast(Any, rig.while_working(lambda: main.act("program.add", **given))).id)


def submit(rig: Rig, node: str, data: str, **settings: object) -> str:
    recipe = {"name": "rejection", **SMALL, **settings}
    answer = rig.worker(node).act("experiment.submit", recipe=recipe, data=data)
    return cast(HandleView, answer).experiment


def test_a_program_of_the_run_takes_the_place_of_a_verifier_that_is_missing(rig: Rig) -> None:
    data = rig.add("sketch/prompts")
    node = rig.open_worker(data)
    verify = add(rig, "verifier", VERIFY, prompt="p", answer="a", points=1)
    same = add(rig, "transform", SAME, row={"prompt": "p"}, made=({"prompt": "p"},))
    with pytest.raises(PolicyDenied, match="the benchmark has none"):
        submit(rig, node, data)
    with pytest.raises(PolicyDenied, match=r"is not in the run; see program\.list"):
        submit(rig, node, data, verifier=PROGRAM)
    with pytest.raises(PolicyDenied, match="is a transform, and rejection asks a verifier or a"):
        submit(rig, node, data, verifier=same)
    name = submit(rig, node, data, verifier=verify)
    queued = rig.state.experiments[name].queued
    assert queued is not None
    assert queued.recipe["verifier"] == verify
    job = RecipeTrainer(rig.recipes, "benchmark:verifier").job(queued, "a.t1", ("base",), 9.0)
    assert job.judge == verify
    assert job.config["verifier"] is None
    plain = RejectionSpec.model_validate({"name": "rejection", **SMALL})
    queued = queued.model_copy(update={"recipe": plain.model_dump(mode="json")})
    job = RecipeTrainer(rig.recipes, "benchmark:verifier").job(queued, "a.t1", ("base",), 9.0)
    assert (job.judge, job.config["verifier"]) == (None, "benchmark:verifier")


def test_a_judged_training_is_asked_for_walls_where_it_runs(rig: Rig) -> None:
    """The engine of a rig starts no judges, as that of an owner without walls."""
    rig.score_base()
    data = rig.add("sketch/prompts")
    node = rig.open_worker(data)
    verify = add(rig, "verifier", VERIFY, prompt="p", answer="a", points=1)
    name = submit(rig, node, data, verifier=verify)
    rig.ledger.append(OS, (OwnerStarted(resumed=True, tier="none", platform="rig"),)).wait()
    with pytest.raises(PolicyDenied, match="and here holds 'none'"):
        submit(rig, node, data, verifier=verify, steps=2)
    rig.settle()
    ended = rig.state.experiments[name].ended
    assert ended is not None
    assert (ended.lifecycle, ended.reason, ended.spent.experiments) == (
        "failed",
        "INFRASTRUCTURE",
        0,
    )
    assert "NO_JUDGE" in ended.detail and "starts no judges" in ended.detail
