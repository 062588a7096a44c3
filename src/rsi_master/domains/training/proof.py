"""Proof of work: the owner re-reads the weights and decides whether a training took place.

It holds for the weights' shape, finiteness and movement. It does not show that they moved by the
rows given: that rests on the recorded job, which replays to the same bits.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import numpy as np

from rsi_master.core import canonical
from rsi_master.core.experiment import Proof, Rejection
from rsi_master.core.failure import Reason
from rsi_master.core.recipe import RecipeSpec
from rsi_master.domains.training import tensors
from rsi_master.domains.training.result import TrainResult
from rsi_master.domains.training.tensors import Group, Tensor, Unreadable
from rsi_master.domains.training.tuning import Tuning
from rsi_master.domains.training.vocabulary import length

Code = (
    Reason
    | Literal[
        "RESULT_UNREADABLE",
        "STEPS_MISSING",
        "NO_SUPERVISED_TOKENS",
        "ALL_SUPERVISED",
        "WEIGHTS_UNREADABLE",
        "WRONG_TENSORS",
        "CHANGED_OUTSIDE",
        "NO_CHANGE",
    ]
)
HEADER_LIMIT: Final = 1 << 24
RESULT_LIMIT: Final = 1 << 20


class _Rejected(Exception):
    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.rejection = Rejection(code=code, detail=detail)


def check(init_weights: Path, out: Path, spec: RecipeSpec) -> Proof | Rejection:
    """Compare `out/model.safetensors` and `out/result.json` with the initial weights and the spec.

    `init_weights` is trusted: Unreadable is raised when it cannot be read. `out` is not.
    """
    before = tensors.read(init_weights)
    try:
        result = _result(out / "result.json")
        _figures(result, spec, length(init_weights.parent))
        after = _weights(before, out / "model.safetensors", spec)
        moved = _movement(before, after, spec)
    except _Rejected as rejected:
        return rejected.rejection
    return Proof(
        steps=result.steps_done,
        supervised_tokens=result.tokens_supervised,
        total_tokens=result.tokens_total,
        change={str(group): norm for group, norm in moved.items()},
        tokenizer_length=result.tokenizer_length,
        final_loss=result.final_loss,
        weights=tensors.digest(after),
    )


def _result(path: Path) -> TrainResult:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > RESULT_LIMIT:
        raise _Rejected(
            "RESULT_UNREADABLE", "result.json is missing, too large or not a plain file"
        )
    try:
        return TrainResult.model_validate(canonical.decode(path.read_bytes()))
    except ValueError as cause:
        raise _Rejected("RESULT_UNREADABLE", f"result.json: {cause}") from cause


def _figures(result: TrainResult, spec: RecipeSpec, tokenizer: int | None) -> None:
    """What the job counted fits the specification."""
    if result.failure is not None:
        raise _Rejected(result.failure.code, result.failure.detail)
    if spec.learns:
        _learning(result, spec)
    if result.tokenizer_length != tokenizer:
        detail = f"trained with {result.tokenizer_length} tokens, the initial model has {tokenizer}"
        raise _Rejected("WRONG_TOKENIZER", detail)


def _learning(result: TrainResult, spec: RecipeSpec) -> None:
    planned = spec.planned_steps(result.rows_kept)
    early = result.stopped is not None and isinstance(spec, Tuning) and spec.stops
    least = 1 if early else planned
    if not 0 < least <= result.steps_done <= planned:
        raise _Rejected("STEPS_MISSING", f"{result.steps_done} steps done of {planned}")
    if result.tokens_supervised == 0:
        raise _Rejected("NO_SUPERVISED_TOKENS", f"none of {result.tokens_total} tokens bears loss")
    if result.tokens_supervised >= result.tokens_total:
        raise _Rejected("ALL_SUPERVISED", f"all {result.tokens_total} tokens bear loss")


def _weights(before: Mapping[str, Tensor], path: Path, spec: RecipeSpec) -> dict[str, Tensor]:
    """The new weights: shaped as before, finite, and unchanged where nothing was to be trained."""
    if path.is_file() and path.stat().st_size > _size(before) + HEADER_LIMIT:
        raise _Rejected("WRONG_TENSORS", f"{path.stat().st_size} bytes, far more than the initial")
    try:
        after = tensors.read(path)
    except Unreadable as cause:
        raise _Rejected("WEIGHTS_UNREADABLE", str(cause)) from cause
    _same_tensors(before, after)
    for name, tensor in after.items():
        if not np.isfinite(tensor.values()).all():
            raise _Rejected("NOT_FINITE", f"{name} holds NaN or infinity")
        if tensor.data != before[name].data and not spec.trains(name):
            raise _Rejected("CHANGED_OUTSIDE", f"{name} was not to be trained and differs")
    return after


def _size(weights: Mapping[str, Tensor]) -> int:
    return sum(len(tensor.data) for tensor in weights.values())


def _movement(
    before: Mapping[str, Tensor], after: Mapping[str, Tensor], spec: RecipeSpec
) -> dict[Group, float]:
    """The change by module group; every group that was to be trained moved."""
    moved = tensors.change(before, after)
    # Norm weights stay near 1, where half precision may round a real update away.
    expected = {tensors.group(name) for name in before if spec.trains(name)} - {"norm"}
    idle = sorted(known for known in expected if moved[known] == 0)
    if idle or not expected:
        raise _Rejected("NO_CHANGE", f"no weight moved in: {', '.join(idle) or 'any module'}")
    return moved


def _same_tensors(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> None:
    odd = sorted(before.keys() ^ after.keys()) or sorted(
        name
        for name, tensor in after.items()
        if (tensor.dtype, tensor.shape) != (before[name].dtype, before[name].shape)
    )
    if odd:
        raise _Rejected(
            "WRONG_TENSORS", f"{odd[0]} ({len(odd)} in all) differs in name, shape or type"
        )
