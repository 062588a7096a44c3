"""No setting that makes a recipe what it is floats with the defaults of a library."""

from collections.abc import Mapping
from dataclasses import fields

import pytest
from transformers import TrainingArguments
from trl import DPOConfig, GRPOConfig, SFTConfig

from rsi_master.programs.jobs import dpo, grpo, supervised
from rsi_master.programs.jobs.training import OPTIMISER

LOADING = {"model_init_kwargs", "trust_remote_code", "router_aux_loss_coef"}
TEXT = {"dataset_num_proc", "truncation_mode", "pad_token", "pad_to_multiple_of"}
SPEED = {"activation_offloading", "precompute_ref_log_probs", "precompute_ref_batch_size"}
IDLE: dict[type[TrainingArguments], set[str]] = {
    SFTConfig: {
        "assistant_only_loss",
        "chat_template_path",
        "completion_only_loss",
        "dataset_text_field",
        "eos_token",
        "eval_packing",
        "packing_strategy",
    },
    DPOConfig: {"discopop_tau", "f_alpha_divergence_coef"},
    GRPOConfig: {
        "cache_implementation",
        "cast_lm_head_to_fp32",
        "chat_template_kwargs",
        "ds3_gather_for_generation",
        "generation_batch_size",
        "generation_kwargs",
        "max_tool_calling_iterations",
        "multi_objective_aggregation",
        "num_completions_to_print",
        "num_generations_eval",
        "reward_weights",
    },
}
"""What has no effect on ids of our own, on one reward, or beside what is said."""
OFF = ("vllm_", "sapo_", "vespo_", "ref_model_", "entropy_", "log_", "transformers_", "use_trans")
GIVEN = {"max_length", "dataset_kwargs", "beta", "num_generations", "max_completion_length"}
GIVEN |= {"temperature"}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (SFTConfig, supervised.LOSS),
        (DPOConfig, dpo.LOSS),
        (GRPOConfig, {**grpo.LOSS, **grpo.DRAWING}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_setting_of_a_trainer_is_said_or_without_effect(
    config: type[TrainingArguments], said: Mapping[str, object]
) -> None:
    """A new release that adds a setting fails here until somebody has looked at it."""
    common = {field.name for field in fields(TrainingArguments)}
    own = {field.name for field in fields(config)} - common
    assert said.keys() <= own
    open_ = own - said.keys() - GIVEN - LOADING - TEXT - SPEED - IDLE[config]
    assert {name for name in open_ if not name.startswith(OFF)} == set()


def test_the_optimiser_is_said_in_settings_that_there_are() -> None:
    assert OPTIMISER.keys() <= {field.name for field in fields(TrainingArguments)}
