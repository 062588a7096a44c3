"""The SFT program as it really runs: forked from a warm parent, confined, judged by the owner."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rsi_master.core.experiment import Proof, Rejection
from rsi_master.core.job import Job, Resources
from rsi_master.core.recipe import RecipeSpec
from rsi_master.domains.training.config import TrainConfig
from rsi_master.domains.training.proof import check
from rsi_master.domains.training.sft import SFT, SftSpec
from rsi_master.programs.nano import tokenizer
from tests.flow import jobs
from tests.flow.jobs import (
    ROWS,
    SECONDS,
    SEED,
    VOCABULARY,
    Rows,
    lines,
    result_of,
    write_checkpoint,
)

COLD = """
import sys
from pathlib import Path
from rsi_master.programs.jobs.sft import run
run(Path(sys.argv[1]))
"""
FULL = SftSpec(learning_rate=2e-3, steps=6, batch_size=8)


@dataclass(frozen=True)
class Cold:
    """A job that runs in a process of its own."""

    process: subprocess.Popen[str]
    folder: Path


class Bench(jobs.Bench):
    """Trains by SFT."""

    def sft(
        self,
        name: str,
        spec: SftSpec,
        rows: Rows = ROWS,
        init: Path | None = None,
        seed: int = SEED,
    ) -> Path:
        """One training; the output folder."""
        config: TrainConfig[RecipeSpec] = TrainConfig(spec=spec, seed=seed)
        return self.train(name, SFT, config, self.checkpoint(init), self.data(rows))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One engine for the module: its warm parent imports the training stack once."""
    with jobs.engine(tmp_path_factory.mktemp("sft job ä"), SFT) as found:
        yield Bench(found.compute, found.objects, found.init)


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cold]:
    """The job of `full` in a fresh interpreter without warm parent and confinement."""
    folder = tmp_path_factory.mktemp("cold")
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    write_checkpoint(folder / "in" / "init")
    (folder / "in" / "data.jsonl").write_bytes(lines(ROWS))
    job = Job(
        name="cold",
        program=SFT.name,
        config=TrainConfig(spec=FULL, seed=SEED).model_dump(),
        resources=Resources(seconds=SECONDS),
    )
    (folder / "job.json").write_text(job.model_dump_json())
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", COLD, str(folder)],
        env={"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        yield Cold(process, folder)
        process.kill()


@pytest.fixture(scope="module")
def full(cold: Cold, bench: Bench) -> Path:
    """The output of one full training. The cold one starts first: both import side by side."""
    return bench.sft("full", FULL)


def test_full_training_is_proved_and_leaves_only_its_output(bench: Bench, full: Path) -> None:
    verdict = check(bench.init / "model.safetensors", full, FULL)
    assert isinstance(verdict, Proof), verdict
    assert verdict.steps == 6
    assert verdict.tokenizer_length == VOCABULARY
    assert all(norm > 0 for norm in verdict.change.values())
    stored = bench.objects.put_folder("checkpoint", full)
    assert set(bench.objects.files(stored.digest)) == {
        "log.txt",
        "metrics.jsonl",
        "model.safetensors",
        "result.json",
    }


def test_the_reported_change_is_the_one_that_the_owner_measures(bench: Bench, full: Path) -> None:
    verdict = check(bench.init / "model.safetensors", full, FULL)
    assert isinstance(verdict, Proof)
    assert result_of(full).change == verdict.change


def test_the_heartbeat_has_a_line_a_step_and_the_loss_falls(full: Path) -> None:
    steps = [json.loads(line) for line in (full / "metrics.jsonl").read_text().splitlines()]
    assert [step["step"] for step in steps] == [1, 2, 3, 4, 5, 6]
    assert steps[-1]["loss"] < steps[0]["loss"]
    assert steps[-1]["tokens"] == result_of(full).tokens_total
    assert steps[-1]["loss"] == result_of(full).final_loss


def test_loss_is_on_the_completion_and_one_end_token(bench: Bench) -> None:
    row = {"prompt": "Q: 1 + 1\nA:", "completion": " 2"}
    out = bench.sft("one-row", SftSpec(steps=1, batch_size=4), [row])
    figures = result_of(out)
    prompt, completion = (len(tokenizer.build().encode(text).ids) for text in row.values())
    assert figures.tokens_supervised == completion + 1
    assert figures.tokens_total == prompt + completion + 1


def test_a_cold_unconfined_process_gives_the_same_bits(full: Path, cold: Cold) -> None:
    said = cold.process.communicate(timeout=SECONDS)[0]
    assert cold.process.returncode == 0, said
    weights = (cold.folder / "out" / "model.safetensors").read_bytes()
    assert weights == (full / "model.safetensors").read_bytes()


def test_another_seed_gives_other_bits_and_the_same_seed_the_same(bench: Bench, full: Path) -> None:
    same = bench.sft("same-seed", FULL)
    other = bench.sft("other-seed", FULL, seed=SEED + 1)
    weights = (full / "model.safetensors").read_bytes()
    assert (same / "model.safetensors").read_bytes() == weights
    assert (other / "model.safetensors").read_bytes() != weights


def test_an_adapter_moves_its_targets_alone_and_is_merged(bench: Bench) -> None:
    spec = SftSpec(
        method="lora",
        lora_rank=4,
        lora_alpha=8,
        lora_targets=("attention",),
        learning_rate=1e-2,
        steps=4,
        batch_size=8,
    )
    out = bench.sft("lora", spec)
    verdict = check(bench.init / "model.safetensors", out, spec)
    assert isinstance(verdict, Proof), verdict
    assert {group for group, norm in verdict.change.items() if norm > 0} == {"attention"}
    adapter = load_file(out / "adapter" / "adapter_model.safetensors")
    config = json.loads((out / "adapter" / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] is None
    query = "model.layers.0.self_attn.q_proj"
    down = adapter[f"base_model.model.{query}.lora_A.weight"]
    up = adapter[f"base_model.model.{query}.lora_B.weight"]
    before = load_file(bench.init / "model.safetensors")[f"{query}.weight"]
    after = load_file(out / "model.safetensors")[f"{query}.weight"]
    np.testing.assert_allclose(after, before + 8 / 4 * up @ down, atol=1e-6)


def test_rows_that_do_not_fit_are_dropped_by_reason_and_never_shortened(bench: Bench) -> None:
    spec = SftSpec(steps=2, batch_size=4, max_length=20)
    odd = [
        {"prompt": "Q: " + "long " * 10 + "A:", "completion": " 1"},
        {"prompt": "Q: 1\nA:", "completion": ""},
        {"prompt": "Q: 1\nA:", "completion": " 1<eos> 2"},
    ]
    exact = {"prompt": "x" * 17, "completion": "ab"}
    figures = result_of(bench.sft("dropped", spec, [*odd, exact]))
    assert figures.dropped == {"too_long": 1, "empty": 1, "end_inside": 1}
    assert figures.rows_kept == 1
    assert figures.tokens_total == 2 * 20


def test_without_a_row_left_the_training_fails_with_its_reason(bench: Bench) -> None:
    out = bench.sft("no-rows", FULL, [{"prompt": "Q", "completion": ""}])
    verdict = check(bench.init / "model.safetensors", out, FULL)
    assert isinstance(verdict, Rejection)
    assert verdict.code == "NO_ROWS"
    assert not (out / "model.safetensors").exists()


@pytest.mark.parametrize("more", [{}, {"chosen": " 1", "rejected": " 2"}], ids=["alone", "pairs"])
def test_rows_of_another_kind_fail_the_training_by_name(
    bench: Bench, more: dict[str, str], request: pytest.FixtureRequest
) -> None:
    out = bench.sft(request.node.callspec.id, FULL, [*ROWS, {"prompt": "Q", **more}])
    verdict = check(bench.init / "model.safetensors", out, FULL)
    assert isinstance(verdict, Rejection)
    assert verdict.code == "WRONG_ROWS"
    assert verdict.detail.startswith(f"line {len(ROWS) + 1} of data.jsonl holds ")
    assert not (out / "model.safetensors").exists()


def test_a_loss_that_is_not_finite_stops_the_training(bench: Bench, tmp_path: Path) -> None:
    init = tmp_path / "init"
    write_checkpoint(init)
    weights = load_file(init / "model.safetensors")
    weights["model.norm.weight"][0] = np.inf
    save_file(weights, init / "model.safetensors", metadata={"format": "pt"})
    out = bench.sft("not-finite", FULL, init=init)
    verdict = check(bench.init / "model.safetensors", out, FULL)
    assert isinstance(verdict, Rejection)
    assert (verdict.code, result_of(out).steps_done) == ("NOT_FINITE", 0)
    assert not (out / "model.safetensors").exists()


def test_an_initial_checkpoint_that_would_be_completed_at_random_is_refused(
    bench: Bench, tmp_path: Path
) -> None:
    init = tmp_path / "init"
    write_checkpoint(init)
    weights = load_file(init / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, init / "model.safetensors", metadata={"format": "pt"})
    failure = result_of(bench.sft("wrong-init", FULL, init=init)).failure
    assert failure is not None
    assert failure.code == "WRONG_INIT"
    assert "up_proj" in failure.detail


def test_a_checkpoint_without_tokenizer_is_refused(bench: Bench, tmp_path: Path) -> None:
    init = tmp_path / "init"
    write_checkpoint(init)
    (init / "tokenizer.json").unlink()
    failure = result_of(bench.sft("no-tokenizer", FULL, init=init)).failure
    assert failure is not None
    assert failure.code == "WRONG_TOKENIZER"
