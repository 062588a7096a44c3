"""Weights read back without torch: safetensors bytes, their values, and how far they moved."""

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

Group = Literal["embedding", "attention", "mlp", "norm", "head", "other"]

NUMPY: Final = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BOOL": "?",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
}
GROUPS: Final[tuple[tuple[Group, re.Pattern[str]], ...]] = (
    ("norm", re.compile(r"norm")),
    ("embedding", re.compile(r"embed|wte|wpe")),
    ("attention", re.compile(r"attn|attention")),
    ("mlp", re.compile(r"mlp|feed_forward")),
    ("head", re.compile(r"lm_head")),
)


class Unreadable(ValueError):
    """The file is no safetensors file, or holds a type that is not known."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One stored tensor: little-endian `data` of the safetensors type `dtype`."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def values(self) -> NDArray[np.float64]:
        """The elements, flat, as float64; raises Unreadable for types that numpy lacks."""
        if self.dtype == "BF16":
            words = np.frombuffer(self.data, dtype="<u2").astype(np.uint32) << np.uint32(16)
            return words.view(np.float32).astype(np.float64)
        if self.dtype not in NUMPY:
            raise Unreadable(f"weights of type {self.dtype}; known are BF16, {', '.join(NUMPY)}")
        return np.frombuffer(self.data, dtype=NUMPY[self.dtype]).astype(np.float64)

    def finite(self) -> bool:
        """Whether no element is NaN or infinite; one of an unknown type is not."""
        try:
            return bool(np.isfinite(self.values()).all())
        except Unreadable:
            return False


def read(path: Path) -> dict[str, Tensor]:
    """All tensors of a file, held in memory; raises Unreadable when it is missing or malformed."""
    if path.is_symlink() or not path.is_file():
        raise Unreadable(f"{path.name} is missing or not a plain file")
    return parse(path.read_bytes(), path.name)


def parse(data: bytes, origin: str = "checkpoint") -> dict[str, Tensor]:
    """All tensors of a file's bytes, in the order of names; raises Unreadable."""
    try:
        entries = deserialize(data)
    except SafetensorError as cause:
        raise Unreadable(f"{origin} is not a safetensors file: {cause}") from cause
    return {
        name: Tensor(entry["dtype"], tuple(entry["shape"]), bytes(entry["data"]))
        for name, entry in sorted(entries)
    }


def digest(weights: Mapping[str, Tensor]) -> str:
    """sha256 over name, type, shape and bytes of each tensor in the order of names."""
    sha = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        shape = "x".join(map(str, tensor.shape))
        sha.update(f"{name}\0{tensor.dtype}\0{shape}\0{len(tensor.data)}\0".encode())
        sha.update(tensor.data)
    return f"sha256:{sha.hexdigest()}"


def group(name: str) -> Group:
    """The module group of a tensor by its name."""
    return next((known for known, pattern in GROUPS if pattern.search(name)), "other")


def change(before: Mapping[str, Tensor], after: Mapping[str, Tensor]) -> dict[Group, float]:
    """Euclidean norm of `after - before` by module group, over the tensors of `before`."""
    squares: dict[Group, float] = {}
    for name, old in sorted(before.items()):
        moved = after[name].values() - old.values()
        squares[group(name)] = squares.get(group(name), 0.0) + float(np.square(moved).sum())
    return {known: math.sqrt(total) for known, total in sorted(squares.items())}
