"""Proof of work: an honest output passes, and every reason code has a fault that produces it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from rsi_master.core import canonical
from rsi_master.core.experiment import Proof, Rejection
from rsi_master.core.failure import Failure, Reason
from rsi_master.domains.training import tensors
from rsi_master.domains.training.grpo import GrpoSpec
from rsi_master.domains.training.proof import Code, check
from rsi_master.domains.training.result import TrainResult
from rsi_master.domains.training.sft import SftSpec
from rsi_master.domains.training.tensors import Unreadable
from rsi_master.domains.training.tuning import Tuning
from rsi_master.programs.sealed.weights import Weights

EMBEDDING = "model.embed_tokens.weight"
QUERY = "model.layers.0.self_attn.q_proj.weight"
UP = "model.layers.0.mlp.up_proj.weight"
NORM = "model.norm.weight"
FULL = SftSpec(steps=2)
LORA = SftSpec(steps=2, method="lora", lora_targets=("attention",))
HONEST = TrainResult(
    steps_planned=2,
    steps_done=2,
    rows_kept=8,
    tokens_supervised=10,
    tokens_total=40,
    final_loss=1.5,
    finite=True,
    tokenizer_length=3,
    threads=1,
)


@dataclass(frozen=True)
class Output:
    """An initial checkpoint and the output of an honest full training of it."""

    init: Path
    out: Path

    def rewrite(self, change: Callable[[dict[str, NDArray[np.float32]]], object]) -> None:
        """Alter the trained weights."""
        weights = load_file(self.out / "model.safetensors")
        change(weights)
        save_file(weights, self.out / "model.safetensors")

    def report(self, **fields: object) -> None:
        """Alter the reported figures."""
        result = HONEST.model_copy(update=fields)
        (self.out / "result.json").write_bytes(canonical.encode(result.model_dump()))

    def restore(self, *names: str) -> None:
        """Put initial tensors back."""
        first = load_file(self.init)
        self.rewrite(lambda weights: weights.update({name: first[name] for name in names}))

    def code(self, spec: SftSpec = FULL) -> str:
        """The reason of the rejection."""
        verdict = check(self.init, self.out, spec)
        assert isinstance(verdict, Rejection)
        assert verdict.detail
        return verdict.code


@pytest.fixture
def output(tmp_path: Path) -> Output:
    """A full training that did what it says."""
    rng = np.random.default_rng(1)
    shapes = {EMBEDDING: (3, 4), QUERY: (4, 4), UP: (8, 4), NORM: (4,)}
    init = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    output = Output(tmp_path / "init" / "model.safetensors", tmp_path / "out")
    output.init.parent.mkdir()
    output.out.mkdir()
    save_file(init, output.init)
    tokenizer = {"model": {"vocab": {"a": 0, "b": 1}}, "added_tokens": [{"id": 2, "content": "e"}]}
    (output.init.parent / "tokenizer.json").write_text(json.dumps(tokenizer))
    moved = {name: value + np.float32(0.5) for name, value in init.items()}
    save_file(moved, output.out / "model.safetensors")
    output.report()
    return output


def test_an_honest_training_is_proved_with_the_change_that_was_measured(output: Output) -> None:
    verdict = check(output.init, output.out, FULL)
    assert isinstance(verdict, Proof)
    assert (verdict.steps, verdict.supervised_tokens, verdict.total_tokens) == (2, 10, 40)
    assert verdict.change["embedding"] == pytest.approx(0.5 * 12**0.5, rel=1e-6)
    assert set(verdict.change) == {"embedding", "attention", "mlp", "norm"}


def test_an_adapter_that_moved_only_its_targets_is_proved(output: Output) -> None:
    output.restore(EMBEDDING, UP, NORM)
    verdict = check(output.init, output.out, LORA)
    assert isinstance(verdict, Proof)
    assert verdict.change["attention"] > 0
    assert verdict.change["mlp"] == verdict.change["embedding"] == 0


@pytest.mark.parametrize(
    ("spec", "done", "code"),
    [
        (GrpoSpec(steps=4), 3, None),
        (GrpoSpec(steps=4), 4, None),
        (GrpoSpec(steps=4), 0, "STEPS_MISSING"),
        (GrpoSpec(steps=4), 5, "STEPS_MISSING"),
        (SftSpec(steps=4), 3, "STEPS_MISSING"),
    ],
)
def test_a_training_that_may_stop_and_says_so_has_fewer_steps(
    output: Output, spec: Tuning, done: int, code: str | None
) -> None:
    output.report(steps_done=done, stopped="equal_rewards")
    verdict = check(output.init, output.out, spec)
    assert (verdict.code if isinstance(verdict, Rejection) else None) == code
    output.report(steps_done=3)
    silent = check(output.init, output.out, spec)
    assert isinstance(silent, Rejection)
    assert silent.code == "STEPS_MISSING"


def test_owner_and_sealed_process_name_weights_alike(output: Output) -> None:
    verdict = check(output.init, output.out, FULL)
    assert isinstance(verdict, Proof)
    sealed = Weights.parse((output.out / "model.safetensors").read_bytes())
    assert verdict.weights == sealed.digest()


def fault_failure(code: Reason) -> Callable[[Output], str]:
    """The job itself gives up with that reason and writes no weights."""

    def fault(output: Output) -> str:
        (output.out / "model.safetensors").unlink()
        output.report(failure=Failure(code=code, detail="said by the job"))
        return output.code()

    return fault


def fault_result_missing(output: Output) -> str:
    (output.out / "result.json").unlink()
    return output.code()


def fault_result_link(output: Output) -> str:
    (output.out / "result.json").rename(output.out / "elsewhere.json")
    (output.out / "result.json").symlink_to("elsewhere.json")
    return output.code()


def fault_result_garbage(output: Output) -> str:
    (output.out / "result.json").write_bytes(b"\xff\x00")
    return output.code()


def fault_result_unknown_field(output: Output) -> str:
    (output.out / "result.json").write_text('{"steps_done": 2, "score": 1.0}')
    return output.code()


def fault_steps(output: Output) -> str:
    output.report(steps_done=1)
    return output.code()


def fault_plan_of_the_job(output: Output) -> str:
    output.report(steps_done=1, steps_planned=1)
    return output.code()


def fault_unsupervised(output: Output) -> str:
    output.report(tokens_supervised=0)
    return output.code()


def fault_all_supervised(output: Output) -> str:
    output.report(tokens_supervised=40)
    return output.code()


def fault_other_tokenizer(output: Output) -> str:
    output.report(tokenizer_length=1)
    return output.code()


def fault_weights_missing(output: Output) -> str:
    (output.out / "model.safetensors").unlink()
    return output.code()


def fault_weights_truncated(output: Output) -> str:
    path = output.out / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4])
    return output.code()


def fault_tensor_missing(output: Output) -> str:
    output.rewrite(lambda weights: weights.pop(NORM))
    return output.code()


def fault_tensor_added(output: Output) -> str:
    output.rewrite(lambda weights: weights.update(extra=np.ones(1, np.float32)))
    return output.code()


def fault_tensor_reshaped(output: Output) -> str:
    output.rewrite(lambda weights: weights.update({UP: weights[UP].T.copy()}))
    return output.code()


def fault_other_type(output: Output) -> str:
    output.rewrite(lambda weights: weights.update({UP: weights[UP].astype(np.float16)}))
    return output.code()


def fault_nan(output: Output) -> str:
    output.rewrite(lambda weights: weights[UP].__setitem__((0, 0), np.nan))
    return output.code()


def fault_infinity(output: Output) -> str:
    output.rewrite(lambda weights: weights[UP].__setitem__((0, 0), np.inf))
    return output.code()


def fault_untouched(output: Output) -> str:
    output.restore(EMBEDDING, QUERY, UP, NORM)
    return output.code()


def fault_one_group_untouched(output: Output) -> str:
    output.restore(UP)
    return output.code()


def fault_outside_the_adapter(output: Output) -> str:
    output.restore(EMBEDDING, NORM)
    return output.code(LORA)


def fault_sign_of_zero_outside_the_adapter(output: Output) -> str:
    first = load_file(output.init)
    first[UP][0, 0] = 0.0
    save_file(first, output.init)
    output.restore(EMBEDDING, UP, NORM)
    output.rewrite(lambda weights: weights[UP].__setitem__((0, 0), -0.0))
    return output.code(LORA)


FAULTS: list[tuple[Code, Callable[[Output], str]]] = [
    *((code, fault_failure(code)) for code in get_args(Reason)),
    ("RESULT_UNREADABLE", fault_result_missing),
    ("RESULT_UNREADABLE", fault_result_link),
    ("RESULT_UNREADABLE", fault_result_garbage),
    ("RESULT_UNREADABLE", fault_result_unknown_field),
    ("STEPS_MISSING", fault_steps),
    ("STEPS_MISSING", fault_plan_of_the_job),
    ("NO_SUPERVISED_TOKENS", fault_unsupervised),
    ("ALL_SUPERVISED", fault_all_supervised),
    ("WRONG_TOKENIZER", fault_other_tokenizer),
    ("WEIGHTS_UNREADABLE", fault_weights_missing),
    ("WEIGHTS_UNREADABLE", fault_weights_truncated),
    ("WRONG_TENSORS", fault_tensor_missing),
    ("WRONG_TENSORS", fault_tensor_added),
    ("WRONG_TENSORS", fault_tensor_reshaped),
    ("WRONG_TENSORS", fault_other_type),
    ("NOT_FINITE", fault_nan),
    ("NOT_FINITE", fault_infinity),
    ("NO_CHANGE", fault_untouched),
    ("NO_CHANGE", fault_one_group_untouched),
    ("CHANGED_OUTSIDE", fault_outside_the_adapter),
    ("CHANGED_OUTSIDE", fault_sign_of_zero_outside_the_adapter),
]


@pytest.mark.parametrize(
    ("code", "fault"), FAULTS, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_fault_is_rejected_by_its_code(
    output: Output, code: Code, fault: Callable[[Output], str]
) -> None:
    assert fault(output) == code


def test_every_code_has_a_fault() -> None:
    known = {code for part in get_args(Code) for code in get_args(part)}
    assert {code for code, _ in FAULTS} == known


def test_an_unreadable_initial_checkpoint_is_no_verdict_on_the_job(output: Output) -> None:
    output.init.write_bytes(b"no weights")
    with pytest.raises(Unreadable, match="safetensors"):
        check(output.init, output.out, FULL)


def test_half_precision_is_read_back_exactly(tmp_path: Path) -> None:
    values = np.array([1.0, -2.5, 0.0, np.inf], dtype=np.float32)
    words = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    path = tmp_path / "half.safetensors"
    header = json.dumps({"w": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + words)
    tensor = tensors.read(path)["w"]
    assert tensor.dtype == "BF16"
    assert tensor.values().tolist() == values.tolist()
