"""The specification of SFT: what it refuses, what counts as the same training, what it plans."""

import sys
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rsi_master.core.recipe import effective_digest
from rsi_master.domains.training.sft import SFT, SftSpec

INIT = "sha256:" + "0" * 64


def same(one: SftSpec, other: SftSpec) -> bool:
    """Whether both count as the same training."""
    return effective_digest(one, INIT, [INIT]) == effective_digest(other, INIT, [INIT])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("learning_rate", 0.0),
        ("learning_rate", 0.2),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("epochs", 0),
        ("epochs", 101),
        ("steps", 0),
        ("batch_size", 0),
        ("warmup", 0.6),
        ("weight_decay", -0.1),
        ("max_length", 7),
        ("lora_rank", 0),
        ("lora_targets", ()),
        ("lora_targets", ("lm_head",)),
        ("method", "qlora"),
        ("schedule", "cosine_with_restarts"),
        ("output_dir", "/tmp"),
        ("extra_args", {}),
    ],
)
def test_out_of_range_and_unknown_fields_are_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        SftSpec.model_validate({field: value})


def test_adapter_fields_have_no_effect_on_full_training() -> None:
    assert same(SftSpec(lora_rank=4, lora_alpha=8), SftSpec(lora_rank=64))
    assert not any(name.startswith("lora") for name in SftSpec().effective())


def test_adapter_fields_tell_adapters_apart() -> None:
    assert not same(SftSpec(method="lora", lora_rank=4), SftSpec(method="lora", lora_rank=64))
    assert not same(SftSpec(method="lora"), SftSpec(method="full"))


def test_epochs_have_no_effect_beside_steps() -> None:
    assert same(SftSpec(steps=5, epochs=1), SftSpec(steps=5, epochs=3))
    assert not same(SftSpec(epochs=1), SftSpec(epochs=3))
    assert not same(SftSpec(steps=5), SftSpec(steps=6))


def test_order_and_repeats_of_targets_do_not_matter() -> None:
    one = SftSpec(method="lora", lora_targets=("mlp", "attention", "mlp"))
    assert same(one, SftSpec(method="lora"))


def test_steps_follow_from_rows() -> None:
    assert SftSpec(batch_size=32).planned_steps(33) == 2
    assert SftSpec(batch_size=32, epochs=0.5).planned_steps(160) == 3
    assert SftSpec(steps=7).planned_steps(1) == 7
    assert SftSpec(steps=7).planned_steps(0) == 0


@given(rows=st.integers(1, 10_000), batch=st.integers(1, 512), epochs=st.floats(0.01, 100))
def test_some_step_is_planned_and_more_epochs_never_plan_fewer(
    rows: int, batch: int, epochs: float
) -> None:
    spec = SftSpec(batch_size=batch, epochs=epochs)
    assert (
        1 <= spec.planned_steps(rows) <= SftSpec(batch_size=batch, epochs=100).planned_steps(rows)
    )


def test_lora_trains_target_projections_only() -> None:
    spec = SftSpec(method="lora", lora_targets=("attention",))
    assert spec.trains("model.layers.0.self_attn.q_proj.weight")
    assert not spec.trains("model.layers.0.mlp.up_proj.weight")
    assert not spec.trains("model.layers.0.self_attn.q_norm.weight")
    assert not spec.trains("model.layers.0.self_attn.q_proj.bias")
    assert not spec.trains("model.embed_tokens.weight")
    assert SftSpec().trains("model.embed_tokens.weight")


def test_reservation_grows_with_the_work() -> None:
    short, long = SftSpec(steps=10), SftSpec(steps=1000)
    assert 0 < short.device_seconds(100, 1) < long.device_seconds(100, 1)
    assert SftSpec(epochs=1).device_seconds(64, 1) < SftSpec(epochs=1).device_seconds(6400, 1)
    assert short.device_seconds(100, 1) < short.device_seconds(100, 134_515_008)


def test_the_specification_and_the_proof_load_no_training_stack() -> None:
    code = (
        "import sys, rsi_master.domains.training.sft, rsi_master.domains.training.proof;"
        "heavy = {'torch', 'transformers', 'trl', 'peft', 'datasets'} & sys.modules.keys();"
        "print(sorted(heavy))"
    )
    done = run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
    assert SFT.program.entry == "rsi_master.programs.jobs.sft:run"
