"""Own samples: a checkpoint's answers become data, with their lineage, paid in device seconds."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from rsi_master.app.laws import laws
from rsi_master.core.action import Amounts
from rsi_master.core.artifact import AnyRow, Pair, Row
from rsi_master.core.dataset import DatasetRefused, DatasetRegistered, Sampled
from rsi_master.core.errors import Misuse, PolicyDenied, RsiError, SealUnavailable
from rsi_master.core.experiment import ExperimentQueued
from rsi_master.core.job import Program
from rsi_master.core.lineage import ancestors, teachers
from rsi_master.core.making import MakingEnded
from rsi_master.core.run import ActionSettled
from rsi_master.core.state import State
from rsi_master.domains.data.actions import DatasetView, RefusedView
from rsi_master.domains.data.pool import parse
from rsi_master.domains.data.samples import NAME
from rsi_master.domains.data.sampling import FailedSampleView, SampledView
from rsi_master.expos.lineage import taint
from rsi_master.interfaces.narrate import narrate
from rsi_master.programs.jobs import keeping
from rsi_master.testing import programs, samples, verifiers
from rsi_master.testing.rig import Rig, sketch_contract
from rsi_master.testing.sketch import POOL_ROWS, SKETCH

SOURCES = ["sketch/clean", "sketch/prompts", "sketch/pairs"]
ADDED = f"{verifiers.__name__}:{verifiers.added.__name__}"
SUMS = POOL_ROWS // 2
"""Prompts that the verifier knows."""


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    """A run with w1, finalised with one experiment of skill 0.5, and w2, which may continue it."""
    monkeypatch.setattr(SKETCH, "verifier", ADDED)
    rig = Rig(tmp_path, sketch_contract(policy={"sources": SOURCES}, research={"workers": 6}))
    rig.score_base()
    data = rig.add()
    rig.explored(data)
    rig.open_worker(data, predecessors=("w1",))
    yield rig
    rig.settle()
    for law in laws(rig.objects, rig.contract):
        assert list(law(rig.events())) == []
    assert rig.state.intents == {}
    rig.close()


def trained(rig: Rig) -> str:
    return rig.state.owned("w1")[0].id


def drawn(rig: Rig, dataset: str, node: str = "w2", **arguments: object) -> DatasetView:
    found = rig.sample(node, dataset, **arguments)
    assert isinstance(found, SampledView), found
    assert isinstance(found.dataset, DatasetView), found
    return found.dataset


def rows(rig: Rig, dataset: str) -> tuple[AnyRow, ...]:
    return parse(rig.objects.get_bytes(dataset))


def refused(rig: Rig, dataset: str, node: str = "w2", **arguments: object) -> RsiError:
    left = rig.state.books.left()
    with pytest.raises(RsiError) as problem:
        rig.sample(node, dataset, **arguments)
    assert "\n" not in problem.value.message
    assert rig.facts(MakingEnded) == []
    assert (rig.state.books.left(), rig.state.intents) == (left, {})
    return problem.value


def test_right_answers_become_rows_of_their_own_lineage(rig: Rig) -> None:
    prompts, name = rig.add("sketch/prompts"), trained(rig)
    view = cast(SampledView, rig.sample("w2", prompts, experiment=name, samples=4, seed=3))
    assert (view.experiment, view.asked, view.drawn) == (name, SUMS, 4 * SUMS)
    assert 0 < view.right < view.drawn
    data = view.dataset
    assert isinstance(data, DatasetView)
    assert (data.holds, data.parents, data.answers_of) == ("rows", (prompts,), name)
    assert data.origin == "samples of sketch/prompts"
    for row in rows(rig, data.id):
        assert isinstance(row, Row)
        assert verifiers.added(row.prompt, row.completion) == 1.0
    assert len(set(rows(rig, data.id))) == data.rows
    fact = rig.state.datasets[data.id]
    checkpoint = rig.state.experiments[name].checkpoint
    assert checkpoint is not None
    assert fact.source.sampled == Sampled(experiment=name, weights=checkpoint.proof.weights)
    told = cast(dict[str, dict[str, Any]], fact.source.operation)
    assert told["sample"] == {
        "keep": "right",
        "prompts": 200,
        "samples": 4,
        "temperature": 1.0,
        "answer_tokens": 128,
        "per_prompt": None,
        "seed": 3,
    }
    assert told["found"] == {
        "asked": SUMS,
        "drawn": 4 * SUMS,
        "right": view.right,
        "kept": data.rows,
        "dropped": {"unverifiable": POOL_ROWS - SUMS},
    }


def test_pairs_are_of_a_right_answer_and_a_wrong_one(rig: Rig) -> None:
    """The prompts of worked rows are asked as well."""
    clean = next(iter(rig.state.datasets))
    data = drawn(rig, clean, keep="pairs", samples=8, prompts=20)
    assert (data.holds, data.answers_of) == ("pairs", "base")
    assert 0 < data.rows <= 20
    for row in rows(rig, data.id):
        assert isinstance(row, Pair)
        points = [verifiers.added(row.prompt, answer) for answer in row.answers()]
        assert points == [1.0, 0.0]


def test_equal_seeds_make_equal_data(rig: Rig) -> None:
    prompts = rig.add("sketch/prompts")
    first, again, other = (drawn(rig, prompts, prompts=10, seed=seed) for seed in (1, 1, 2))
    assert first.id == again.id != other.id


def test_device_seconds_are_reserved_and_what_the_job_took_is_paid(rig: Rig) -> None:
    prompts, before = rig.add("sketch/prompts"), rig.state.books.spent
    view = cast(SampledView, rig.sample("w2", prompts))
    (job,) = rig.facts(MakingEnded)
    (settled,) = [f for f in rig.facts(ActionSettled) if f.intent == job.intent]
    assert settled.spent == Amounts(device_seconds=job.seconds)
    assert rig.state.books.spent == before.plus(settled.spent)
    assert view.device_seconds == round(job.seconds, 3)
    assert (job.worker, job.program, job.ending, job.problem) == ("w2", NAME, "ok", None)
    assert b'"seed":0' in rig.objects.get_bytes(job.spec.digest)
    line = narrate(next(e for e in rig.events() if e.fact == job), rig.state)
    assert line is not None and "data.sample" in line.text
    assert State.replay(rig.contract, rig.events()).submissions == rig.state.submissions


def test_what_learns_from_samples_goes_back_to_who_wrote_them(rig: Rig) -> None:
    """The chain: w1's experiment writes rows, a mixture holds some, w3 trains on that from the
    base, and w4 continues w3."""
    name, prompts = trained(rig), rig.add("sketch/prompts")
    samples = drawn(rig, prompts, experiment=name).id
    clean = next(iter(rig.state.datasets))
    mixed = cast(DatasetView, rig.main().act("data.derive", datasets=(clean, samples))).id
    rig.finalise("w2")
    learner, learnt = rig.explored(mixed, steps=5)
    heir = rig.open_worker(predecessors=(learner,))
    child = rig.train(heir, clean, learnt, steps=2)
    beside = rig.train(heir, clean, steps=7)
    assert teachers(rig.state, learnt) == (name,)
    assert ancestors(rig.state, learnt) == ("base",)
    assert taint(rig.state, learnt) is None
    rig.operator().act("audit.flag", experiment=name, category="test_access", reason="it looked")
    assert [taint(rig.state, one) for one in (learnt, child, beside)] == [name, name, None]
    with pytest.raises(PolicyDenied, match=f"holds answers of {name}, tainted") as denied:
        rig.submit(heir, mixed, steps=8)
    assert denied.value.code == "TAINT"
    with pytest.raises(PolicyDenied, match="tainted by the flagged"):
        rig.submit(heir, clean, child, steps=8)
    assert "holds answers of" in refused_after(rig, heir, samples).message


def refused_after(rig: Rig, node: str, dataset: str) -> RsiError:
    with pytest.raises(PolicyDenied) as problem:
        rig.sample(node, dataset)
    return problem.value


def test_a_verification_trains_on_the_rows_that_are_recorded(rig: Rig) -> None:
    samples = drawn(rig, rig.add("sketch/prompts"), experiment=trained(rig)).id
    name = rig.train("w2", samples, steps=4)
    rig.finalise("w2", name)
    node, last = rig.verified(name)
    (again,) = [e.queued for e in rig.state.owned(node)]
    assert again is not None and (again.experiment, again.data) == (last, (samples,))
    assert again.seed == rig.contract.policy.seed_of_promotion
    assert teachers(rig.state, last) == (trained(rig),)
    assert len(rig.facts(ExperimentQueued)) == 3
    assert len(rig.facts(MakingEnded)) == 1


def test_a_verification_makes_no_data(rig: Rig) -> None:
    data = next(iter(rig.state.datasets))
    node = rig.open_worker(
        purpose="verify", replicates=trained(rig), promotion=0, predecessors=("w1",)
    )
    assert refused(rig, data, node).code == "PURPOSE"


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        ({"experiment": "../base"}, "BAD_ARGUMENT", "experiment"),
        (
            {"experiment": "00000000-0000-7000-8000-999999999999"},
            "LINEAGE",
            "is no experiment of this run",
        ),
        ({"keep": "all"}, "BAD_ARGUMENT", "keep"),
        ({"keep": "pairs", "samples": 1}, "BAD_ARGUMENT", "samples 2 or more"),
        ({"text": "write this"}, "BAD_ARGUMENT", "text"),
        ({"prompts": 100_000, "answer_tokens": 4096, "samples": 64}, "OVER_BUDGET", "needed"),
    ],
)
def test_what_cannot_be_is_refused_and_costs_nothing(
    rig: Rig, arguments: dict[str, Any], code: str, word: str
) -> None:
    problem = refused(rig, next(iter(rig.state.datasets)), **arguments)
    assert word in problem.message
    assert problem.code == code


def test_prompts_are_taken_of_known_datasets_of_prompts_or_rows(rig: Rig) -> None:
    assert refused(rig, "sha256:" + "0" * 64).code == "UNKNOWN_DATASET"
    problem = refused(rig, rig.add("sketch/pairs"))
    assert (problem.code, "holds pairs" in problem.message) == ("KINDS", True)


def test_checkpoints_of_others_and_flagged_ones_write_nothing(rig: Rig) -> None:
    data, name = next(iter(rig.state.datasets)), trained(rig)
    stranger = rig.open_worker(data)
    assert "no predecessor" in refused(rig, data, stranger, experiment=name).message
    rig.operator().act("audit.flag", experiment=name, category="test_access", reason="it looked")
    assert "tainted" in refused(rig, data, experiment=name).message
    assert refused(rig, data, "w1").code == "ACTIVE"


def test_without_a_verifier_there_is_nothing_to_keep(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    try:
        problem = refused(rig, rig.add(), rig.open_worker())
        assert (problem.code, "has none" in problem.message) == ("VERIFIER", True)
    finally:
        rig.close()


def test_samples_count_as_data_submissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SKETCH, "verifier", ADDED)
    rig = Rig(tmp_path, sketch_contract(policy={"submissions": 2}))
    try:
        data, node = rig.add(), rig.open_worker()
        drawn(rig, data, node, samples=16)
        with pytest.raises(PolicyDenied) as denied:
            rig.sample(node, data, seed=1)
        assert denied.value.code == "SUBMISSIONS"
    finally:
        rig.close()


def test_a_sampling_leaves_enough_to_verify_its_checkpoint(rig: Rig) -> None:
    """The training that wrote takes 10 seconds, its scoring 20, and the sampling just over 30."""
    data, name = next(iter(rig.state.datasets)), trained(rig)
    arguments: dict[str, Any] = {"prompts": 5, "answer_tokens": 10}
    held = rig.state.books.reserved().device_seconds
    total = rig.contract.budget.device_seconds
    rig.state.books.spent = Amounts(device_seconds=total - held - 55)
    problem = refused(rig, data, experiment=name, **arguments)
    assert problem.code == "VERIFICATION"
    assert f"would not cover the verification of {name}" in problem.message
    rig.state.books.spent = Amounts(device_seconds=total - held - 65)
    drawn(rig, data, experiment=name, samples=16, **arguments)
    rig.state.books.spent = Amounts()


def nothing(rig: Rig, dataset: str, **arguments: object) -> FailedSampleView:
    registered = len(rig.facts(DatasetRegistered))
    view = rig.sample("w2", dataset, **arguments)
    assert isinstance(view, FailedSampleView), view
    (job,) = rig.facts(MakingEnded)
    assert job.problem == view.failed
    assert rig.state.books.spent.device_seconds >= job.seconds
    assert len(rig.facts(DatasetRegistered)) == registered
    assert rig.facts(DatasetRefused) == []
    return view


@pytest.mark.parametrize(
    ("verifier", "arguments", "word"),
    [
        ("never", {}, "NO_RIGHT_ANSWER: none of 4 answers to each of 60 prompts"),
        ("never", {"keep": "pairs"}, "NO_CONTRAST: of 4 answers to each of 60 prompts"),
        ("broken", {}, "NO_VERIFIER: the verifier gives 7.0, no points in 0..1"),
    ],
)
def test_a_sampling_that_gives_nothing_says_why(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verifier: str,
    arguments: dict[str, object],
    word: str,
) -> None:
    monkeypatch.setattr(SKETCH, "verifier", f"{verifiers.__name__}:{verifier}")
    rig = Rig(tmp_path, sketch_contract(policy={"sources": SOURCES}))
    try:
        rig.open_worker()
        rig.open_worker()
        assert nothing(rig, rig.add("sketch/prompts"), **arguments).failed.startswith(word)
    finally:
        rig.close()


def run_instead(rig: Rig, program: str) -> None:
    tiny = Program(entry=f"{programs.__name__}:{program}")
    rig.compute._programs[NAME] = tiny


def test_a_job_that_crashes_is_told_with_its_log_and_paid(rig: Rig) -> None:
    run_instead(rig, "fail")
    view = nothing(rig, next(iter(rig.state.datasets)))
    assert view.failed.startswith("the job ended crashed: exit code 1: ValueError: a failure")
    assert "Traceback" in view.log and "a failure on purpose" in view.log
    (job,) = rig.facts(MakingEnded)
    assert job.log is not None and b"on purpose" in rig.objects.get_bytes(job.log.digest)


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("stamp", "the job left no plain file rows.jsonl"),
        ("no_result", "the job ended crashed: exit code 0 without out/result.json"),
    ],
)
def test_an_output_that_is_none_is_told(rig: Rig, program: str, word: str) -> None:
    run_instead(rig, program)
    assert nothing(rig, next(iter(rig.state.datasets))).failed == word


def test_a_result_that_is_none_is_told(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def garbage(out: Path, *_: object) -> None:
        (out / "rows.jsonl").write_text("")
        (out / "result.json").write_text('{"kept": -1}')

    monkeypatch.setattr(samples, "write", garbage)
    view = nothing(rig, next(iter(rig.state.datasets)))
    assert view.failed == "the job's result.json is no result"


@pytest.mark.parametrize(
    ("lie", "word"),
    [
        (Row(prompt="Q: never asked\nA:", completion=" 1"), "it was not asked"),
        (Pair(prompt="Q: p", chosen=" 1", rejected=" 2"), "left others than rows"),
        (None, "says it kept 0 rows and left 0"),
    ],
)
def test_a_job_may_not_say_more_than_it_was_asked(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, lie: Row | Pair | None, word: str
) -> None:
    def judge(self: keeping.Kept, prompts: Any, answers: Any, of: Any) -> None:
        self.rows = [lie] if lie is not None else []

    monkeypatch.setattr(keeping.Kept, "take", judge)
    assert word in nothing(rig, next(iter(rig.state.datasets))).failed


def test_a_scan_that_fails_is_told_and_the_job_is_paid(rig: Rig) -> None:
    def dying(rows: object) -> Any:
        raise SealUnavailable("SEALED_DIED", "no sealed process; restart it")

    rig.sealed.scan = dying  # type: ignore[method-assign]
    view = nothing(rig, next(iter(rig.state.datasets)))
    assert view.failed == "no sealed process; restart it"
    del rig.sealed.scan


def test_answers_that_the_scan_drops_are_no_dataset(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = rig.sealed.scan

    def strict(rows: Any) -> Any:
        found = scan(rows)
        return found.model_copy(update={"kept": (), "dropped": {"SEALED_ANSWER": len(rows)}})

    rig.sealed.scan = strict  # type: ignore[method-assign]
    view = cast(SampledView, rig.sample("w2", next(iter(rig.state.datasets))))
    assert isinstance(view.dataset, RefusedView)
    (fact,) = rig.facts(DatasetRefused)
    assert fact.source.sampled is not None
    (job,) = rig.facts(MakingEnded)
    assert job.problem is None


def test_a_job_that_a_paused_run_cancels_is_paid_and_recorded(rig: Rig) -> None:
    """The pause alone takes nothing away; who asked is told how the job ended."""
    data, before = next(iter(rig.state.datasets)), rig.state.books.spent.device_seconds
    run_instead(rig, "beat")
    with ThreadPoolExecutor(1) as caller:
        asked = caller.submit(rig.worker("w2").act, NAME, dataset=data)
        while not rig.engine.busy():
            rig.tick()
        with pytest.raises(Misuse, match="a job of w2 is under way"):
            rig.worker("w2").act(NAME, dataset=data, seed=1)
        rig.operator().act("run.pause", reason="lunch")
        rig.engine.cancel_all("STOPPED")
        while not asked.done():
            rig.tick()
        view = cast(SampledView | FailedSampleView, asked.result(0))
        assert isinstance(view, FailedSampleView)
    (job,) = rig.facts(MakingEnded)
    assert job.problem is not None
    assert rig.state.books.spent.device_seconds - before == pytest.approx(job.seconds)
    rig.operator().act("run.resume")
