"""DPO, GRPO, rejection sampling and merges as they really run, judged by the owner."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rsi_master.core.experiment import Proof, Rejection
from rsi_master.core.recipe import Recipe, RecipeSpec
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.dpo import DPO, DpoSpec
from rsi_master.domains.training.grpo import GRPO, GrpoSpec
from rsi_master.domains.training.merge import MERGE, MergeSpec
from rsi_master.domains.training.proof import check
from rsi_master.domains.training.rejection import REJECTION, RejectionSpec
from rsi_master.programs.jobs import checkpoint
from tests.flow import jobs
from tests.flow.jobs import ROWS, SEED, Bench, Rows, length, result_of, write_checkpoint

VERIFIERS = "rsi_master.testing.verifiers"
LETTER = f"{VERIFIERS}:starts_with_letter"
NEVER = f"{VERIFIERS}:never"
AS_TOLD = f"{VERIFIERS}:as_told"
PROMPTS: Rows = [{"prompt": row["prompt"]} for row in ROWS]
PAIRS: Rows = [
    {"prompt": row["prompt"], "chosen": row["completion"], "rejected": " no"} for row in ROWS
]
PREFER = DpoSpec(learning_rate=1e-3, steps=8, batch_size=8)
REWARD = GrpoSpec(
    learning_rate=1e-2, schedule="constant", steps=40, prompts=4, samples=8, answer_tokens=4
)
RESAMPLE = RejectionSpec(
    learning_rate=3e-3, rounds=2, prompts=18, samples=8, answer_tokens=64, steps=10, batch_size=8
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One engine for the module: its warm parent imports the training stack once."""
    with jobs.engine(tmp_path_factory.mktemp("recipes"), DPO, GRPO, REJECTION, MERGE) as found:
        yield found


def config(
    spec: RecipeSpec, verifier: str | None = None, seed: int = SEED
) -> TrainConfig[RecipeSpec]:
    """What a job is asked to do."""
    return TrainConfig(spec=spec, seed=seed, verifier=verifier)


def proved(bench: Bench, out: Path, spec: RecipeSpec) -> Proof:
    """The owner's proof of an output; the test fails without one."""
    verdict = check(bench.init / "model.safetensors", out, spec)
    assert isinstance(verdict, Proof), verdict
    return verdict


def refused(bench: Bench, out: Path, spec: RecipeSpec) -> Rejection:
    """Why an output is no checkpoint."""
    verdict = check(bench.init / "model.safetensors", out, spec)
    assert isinstance(verdict, Rejection), verdict
    assert not (out / "model.safetensors").exists()
    return verdict


def metrics(out: Path) -> list[dict[str, float]]:
    """The lines of the spool."""
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def test_dpo_learns_to_prefer(bench: Bench) -> None:
    out = bench.train("dpo", DPO, config(PREFER), bench.checkpoint(), bench.data(PAIRS))
    proof = proved(bench, out, PREFER)
    steps = metrics(out)
    assert steps[0]["loss"] == pytest.approx(np.log(2), abs=1e-4)
    assert steps[-1]["loss"] < 0.6
    assert proof.steps == len(steps) == 8


def test_dpo_counts_both_answers_with_an_end_token_each(bench: Bench) -> None:
    spec = PREFER.model_copy(update={"steps": 1, "batch_size": 1})
    out = bench.train("dpo-one", DPO, config(spec), bench.checkpoint(), bench.data(PAIRS[:1]))
    answers = length(PAIRS[0]["chosen"]) + length(PAIRS[0]["rejected"]) + 2
    told = result_of(out)
    assert told.tokens_supervised == answers
    assert told.tokens_total == answers + 2 * length(PAIRS[0]["prompt"])


def test_dpo_trains_an_adapter_against_the_model_without_it(bench: Bench) -> None:
    spec = PREFER.model_copy(update={"method": "lora", "lora_rank": 4, "learning_rate": 1e-2})
    out = bench.train("dpo-lora", DPO, config(spec), bench.checkpoint(), bench.data(PAIRS))
    proof = proved(bench, out, spec)
    assert {name for name, norm in proof.change.items() if norm} == {"attention", "mlp"}
    assert metrics(out)[0]["loss"] == pytest.approx(np.log(2), abs=1e-4)
    assert (out / "adapter" / "adapter_model.safetensors").is_file()


def test_pairs_with_an_answer_that_does_not_fit_are_dropped(bench: Bench) -> None:
    odd = [{**PAIRS[0], "rejected": ""}, {**PAIRS[0], "chosen": "x" * 400}]
    spec = PREFER.model_copy(update={"steps": 1})
    out = bench.train("dpo-odd", DPO, config(spec), bench.checkpoint(), bench.data([*odd, *PAIRS]))
    told = result_of(out)
    assert (told.dropped, told.rows_kept) == ({"empty": 1, "too_long": 1}, len(PAIRS))


def test_grpo_earns_more_reward_and_repeats_bit_by_bit(bench: Bench) -> None:
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    out = bench.train("grpo", GRPO, config(REWARD, LETTER), *inputs)
    again = bench.train("grpo-again", GRPO, config(REWARD, LETTER), *inputs)
    proof, rewards = proved(bench, out, REWARD), [step["reward"] for step in metrics(out)]
    assert proof.steps == len(rewards) == 40
    assert sum(rewards[-10:]) > 1.5 * sum(rewards[:10]) > 0
    weights = [(one / "model.safetensors").read_bytes() for one in (out, again)]
    assert weights[0] == weights[1]


def test_grpo_stops_where_all_rewards_are_equal(bench: Bench) -> None:
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    out = bench.train("grpo-equal", GRPO, config(REWARD, NEVER), *inputs)
    verdict = refused(bench, out, REWARD)
    assert (verdict.code, result_of(out).steps_done) == ("EQUAL_REWARDS", 10)


def test_prompts_that_the_verifier_does_not_know_are_dropped(bench: Bench) -> None:
    spec = REWARD.model_copy(update={"steps": 1})
    odd = [{"prompt": "who?"}, {"prompt": "Q: <eos>"}, {"prompt": "Q: " + "x" * 400}]
    inputs = (bench.checkpoint(), bench.data([*odd, *PROMPTS]))
    told = result_of(bench.train("grpo-odd", GRPO, config(spec, LETTER), *inputs))
    assert told.dropped == {"end_inside": 1, "too_long": 1, "unverifiable": 1}
    assert told.rows_kept == len(PROMPTS)


@pytest.mark.parametrize(
    ("verifier", "word"),
    [
        (None, "has no open verifier"),
        ("rsi_master.nowhere:points", "rsi_master.nowhere:points cannot be loaded"),
        (f"{VERIFIERS}:nothing", "cannot be loaded"),
        (f"{VERIFIERS}:broken", "gives 7.0, no points in 0..1"),
    ],
)
def test_without_a_verifier_that_can_be_asked_nothing_is_trained(
    bench: Bench, verifier: str | None, word: str, request: pytest.FixtureRequest
) -> None:
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    name = f"verifier-{abs(hash(request.node.name))}"
    out = bench.train(name, REJECTION, config(RESAMPLE, verifier), *inputs)
    verdict = refused(bench, out, RESAMPLE)
    assert verdict.code == "NO_VERIFIER"
    assert word in verdict.detail


def test_rejection_sampling_trains_on_right_answers_and_demonstrations(bench: Bench) -> None:
    shown = bench.data(ROWS[:5], "demonstrations")
    inputs = (bench.checkpoint(), bench.data(PROMPTS), shown)
    out = bench.train("rejection", REJECTION, config(RESAMPLE, LETTER), *inputs)
    alone = bench.train("rejection-alone", REJECTION, config(RESAMPLE, LETTER), *inputs[:2])
    proof = proved(bench, out, RESAMPLE)
    assert proof.steps == len(metrics(out)) == 20
    assert result_of(out).rows_kept > 5
    assert result_of(alone).rows_kept > 0
    assert metrics(out)[-1]["loss"] < metrics(out)[0]["loss"]


def test_rejection_sampling_repeats_bit_by_bit_and_seeds_differ(bench: Bench) -> None:
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    spec = RESAMPLE.model_copy(update={"rounds": 1, "steps": 2})
    found = [
        bench.train(f"seed-{at}", REJECTION, config(spec, LETTER, seed), *inputs)
        for at, seed in enumerate((SEED, SEED, SEED + 1))
    ]
    first, same, other = ((one / "model.safetensors").read_bytes() for one in found)
    assert first == same != other


@pytest.mark.parametrize(
    ("recipe", "spec", "reference"),
    [
        (GRPO, REWARD.model_copy(update={"steps": 2}), "7"),
        (REJECTION, RESAMPLE.model_copy(update={"rounds": 1, "steps": 2}), "seven"),
    ],
    ids=["grpo", "rejection"],
)
def test_answers_are_compared_with_the_reference_beside_their_prompt(
    bench: Bench, recipe: Recipe, spec: RecipeSpec, reference: str
) -> None:
    told: Rows = [{**row, "answer": reference} for row in PROMPTS]
    inputs = (bench.checkpoint(), bench.data([*told, {"prompt": "Q: a prompt without one"}]))
    out = bench.train(f"{recipe.name}-told", recipe, config(spec, AS_TOLD), *inputs)
    proved(bench, out, spec)
    assert result_of(out).dropped["unverifiable"] == 1


def test_rejection_sampling_needs_a_right_answer(bench: Bench) -> None:
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    out = bench.train("rejection-never", REJECTION, config(RESAMPLE, NEVER), *inputs)
    assert refused(bench, out, RESAMPLE).code == "NO_RIGHT_ANSWER"


VERIFY_LETTER = """
def verify(prompt, answer):
    return answer[:1].isalpha() if prompt.startswith('Q:') else None
"""
REWARD_LETTER = """
def reward(episode):
    if not episode['prompt'].startswith('Q:'):
        return None
    return float(episode['answer'][:1].isalpha())
"""


@pytest.mark.parametrize("name", ["rejection", "grpo"])
def test_a_program_in_its_place_trains_as_the_verifier_does(bench: Bench, name: str) -> None:
    """It runs in another process and says the same, so the weights are the same bits."""
    if bench.tier == "none":
        pytest.skip("agents' code needs walls")
    inputs = (bench.checkpoint(), bench.data([*PROMPTS, {"prompt": "unknown"}]))
    recipe: Recipe = REJECTION
    plain: RecipeSpec = RESAMPLE.model_copy(update={"rounds": 1, "steps": 2})
    by = {"verifier": bench.program("verifier", VERIFY_LETTER)}
    if name == "grpo":
        recipe, plain = GRPO, REWARD.model_copy(update={"steps": 2})
        by = {"reward": bench.program("reward", REWARD_LETTER)}
    judged = plain.model_copy(update=by)
    out = bench.train(f"{name}-judged", recipe, config(judged), *inputs)
    same = bench.train(f"{name}-verified", recipe, config(plain, LETTER), *inputs)
    proved(bench, out, judged)
    assert result_of(out).dropped["unverifiable"] == 1
    weights = [(one / "model.safetensors").read_bytes() for one in (out, same)]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def verify(prompt, answer):\n    return 1 / 0\n", "at line 2 with ZeroDivisionError"),
        ("def verify(prompt, answer):\n    return 7\n", "with ValueError"),
        ("import os\ndef verify(*asked):\n    os._exit(0)\n", "the program ended its process"),
    ],
)
def test_a_program_that_fails_ends_the_training_by_name(
    bench: Bench, source: str, told: str
) -> None:
    if bench.tier == "none":
        pytest.skip("agents' code needs walls")
    spec = RESAMPLE.model_copy(update={"verifier": bench.program("verifier", source)})
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    out = bench.train(f"failing-{abs(hash(source))}", REJECTION, config(spec), *inputs)
    verdict = refused(bench, out, spec)
    assert verdict.code == "PROGRAM_FAILED"
    assert told in verdict.detail


def test_an_answer_that_was_cut_is_dropped_and_counted_and_never_right(bench: Bench) -> None:
    """Letters are right, and no letter is an end."""
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    spec = RESAMPLE.model_copy(update={"answer_tokens": 1})
    out = bench.train("rejection-cut", REJECTION, config(spec, LETTER), *inputs)
    verdict, cut = refused(bench, out, spec), result_of(out).dropped["cut"]
    assert verdict.code == "NO_RIGHT_ANSWER"
    assert f"{cut} had no end after 1 tokens" in verdict.detail
    assert 0.9 * 18 * 8 < cut <= 18 * 8


@pytest.mark.parametrize(
    ("recipe", "spec"),
    [
        (GRPO, REWARD.model_copy(update={"steps": 2})),
        (REJECTION, RESAMPLE.model_copy(update={"rounds": 2, "steps": 2})),
    ],
    ids=["grpo", "rejection"],
)
def test_how_a_checkpoint_would_draw_by_itself_has_no_effect(
    bench: Bench, tmp_path: Path, recipe: Recipe, spec: RecipeSpec
) -> None:
    write_checkpoint(tmp_path / "opinionated")
    opinion = {
        "top_k": 1,
        "top_p": 0.1,
        "min_p": 0.9,
        "typical_p": 0.1,
        "epsilon_cutoff": 0.5,
        "repetition_penalty": 5.0,
        "no_repeat_ngram_size": 1,
        "suppress_tokens": list(range(4, 50)),
        "min_new_tokens": 4,
        "max_time": 1e-9,
        "num_beams": 2,
    }
    written = tmp_path / "opinionated" / "generation_config.json"
    written.write_text(json.dumps({"do_sample": True, **opinion}), encoding="utf-8")
    found = [
        bench.train(
            f"drawn-{recipe.name}-{at}", recipe, config(spec, LETTER), init, bench.data(PROMPTS)
        )
        for at, init in enumerate((bench.checkpoint(), bench.checkpoint(tmp_path / "opinionated")))
    ]
    plain, opinionated = ((one / "model.safetensors").read_bytes() for one in found)
    assert plain == opinionated


def test_what_does_not_fit_is_told_where_nothing_is_left(bench: Bench) -> None:
    """No answer fits beside its prompt: its end alone would be one token too many."""
    spec = RESAMPLE.model_copy(update={"max_length": length(PROMPTS[0]["prompt"])})
    asked: Rows = [row for row in PROMPTS if length(row["prompt"]) <= spec.max_length]
    inputs = (bench.checkpoint(), bench.data(asked))
    out = bench.train("rejection-long", REJECTION, config(spec, LETTER), *inputs)
    verdict, dropped = refused(bench, out, spec), result_of(out).dropped
    assert verdict.code == "NO_ROWS"
    assert dropped["too_long"] > 0
    assert verdict.detail == f"no row is left to train on; dropped: {dropped}"


@pytest.mark.parametrize(
    ("recipe", "spec"),
    [(REJECTION, RESAMPLE), (GRPO, REWARD), (DPO, PREFER)],
    ids=["rejection", "grpo", "dpo"],
)
def test_nothing_is_longer_than_what_the_model_was_made_for(
    bench: Bench, recipe: Recipe, spec: RejectionSpec | GrpoSpec | DpoSpec
) -> None:
    """Whatever the specification takes; a prompt leaves room for an answer."""
    spec = spec.model_copy(update={"max_length": 4096, "steps": 1})
    answer = 0 if isinstance(spec, DpoSpec) else spec.answer_tokens
    room = checkpoint.context(bench.init) - answer
    rows = PAIRS if isinstance(spec, DpoSpec) else PROMPTS
    long = {**rows[0], "prompt": "Q: " + "x" * room}
    inputs = (bench.checkpoint(), bench.data([*rows, long]))
    out = bench.train(f"{recipe.name}-context", recipe, config(spec, LETTER), *inputs)
    assert result_of(out).dropped["too_long"] == 1


def test_what_does_not_fit_is_counted_once_over_all_rounds(bench: Bench) -> None:
    long = {**ROWS[0], "completion": "x" * 300}
    shown = bench.data([*ROWS[:5], long], "demonstrations")
    inputs = (bench.checkpoint(), bench.data(PROMPTS), shown)
    out = bench.train("rejection-twice", REJECTION, config(RESAMPLE, LETTER), *inputs)
    assert result_of(out).dropped["too_long"] == 1


def test_an_adapter_is_merged_after_each_round(bench: Bench) -> None:
    spec = RESAMPLE.model_copy(update={"method": "lora", "lora_rank": 4, "learning_rate": 1e-2})
    inputs = (bench.checkpoint(), bench.data(PROMPTS))
    out = bench.train("rejection-lora", REJECTION, config(spec, LETTER), *inputs)
    proof = proved(bench, out, spec)
    assert {name for name, norm in proof.change.items() if norm} == {"attention", "mlp"}


@pytest.mark.parametrize(
    ("recipe", "spec"),
    [(DPO, PREFER), (GRPO, REWARD), (REJECTION, RESAMPLE)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_rows_of_another_kind_fail_by_name(bench: Bench, recipe: Recipe, spec: RecipeSpec) -> None:
    inputs = (bench.checkpoint(), bench.data(ROWS))
    out = bench.train(f"kind-{recipe.name}", recipe, config(spec, LETTER), *inputs)
    verdict = refused(bench, out, spec)
    assert verdict.code == "WRONG_ROWS"
    assert verdict.detail == f"line 1 of data.jsonl holds rows; the recipe takes {spec.takes}"


def other(bench: Bench, folder: Path, factor: float) -> Path:
    """A checkpoint whose weights are `factor` times those of the first."""
    write_checkpoint(folder)
    weights = load_file(bench.init / "model.safetensors")
    scaled = {name: (value * factor).astype(value.dtype) for name, value in weights.items()}
    save_file(scaled, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize(
    ("spec", "factor"),
    [
        (MergeSpec(), 2.0),
        (MergeSpec(method="task_arithmetic", scale=0.5), 2.5),
        (MergeSpec(method="ties", density=1.0), 2.5),
    ],
    ids=lambda value: getattr(value, "method", ""),
)
def test_a_merge_is_the_weights_that_its_method_says(
    bench: Bench, tmp_path: Path, spec: MergeSpec, factor: float
) -> None:
    """Of 1, 2 and 3 times the same weights; TIES takes the mean of changes of one sign."""
    several = (other(bench, tmp_path / "two", 2.0), other(bench, tmp_path / "three", 3.0))
    merged = [bench.checkpoint(one, f"merged-{at}") for at, one in enumerate(several, 1)]
    out = bench.train(f"merge-{spec.method}", MERGE, config(spec), bench.checkpoint(), *merged)
    proof = proved(bench, out, spec)
    assert (proof.steps, proof.supervised_tokens) == (0, 0)
    before = load_file(bench.init / "model.safetensors")
    for name, value in load_file(out / "model.safetensors").items():
        np.testing.assert_allclose(value, factor * before[name], rtol=1e-5)


def test_the_order_of_parts_without_effect_changes_no_bit(bench: Bench, tmp_path: Path) -> None:
    """Of sums like 1e30 + 1 - 1e30, which depend on it in double precision."""
    big, small = other(bench, tmp_path / "big", 1e30), other(bench, tmp_path / "small", -1e30)
    several = [bench.init, big, bench.init, small, other(bench, tmp_path / "two", 2.0)]
    for method in ("linear", "task_arithmetic", "ties"):
        spec = MergeSpec(method=method, scale=0.3, density=1.0)
        backwards = several[::-1] if method == "linear" else [several[0], *several[:0:-1]]
        found = set()
        for at, parts in enumerate((several, backwards)):
            inputs = [
                bench.checkpoint(part, f"merged-{nth}" if nth else "init")
                for nth, part in enumerate(parts)
            ]
            out = bench.train(f"order-{method}-{at}", MERGE, config(spec), *inputs)
            found.add((out / "model.safetensors").read_bytes())
        assert len(found) == 1, method
