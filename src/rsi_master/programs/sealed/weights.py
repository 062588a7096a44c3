"""Tensors of a safetensors file as plain bytes: their digest, and whether they fit the base."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from safetensors import SafetensorError, deserialize

Unfit = Literal["WRONG_TENSORS", "NOT_FINITE"]

# Sign-free bits of an infinity: a larger value is NaN, an equal one infinite.
_INFINITY: dict[str, tuple[str, int]] = {
    "F64": ("<u8", 0x7FF0_0000_0000_0000),
    "F32": ("<u4", 0x7F80_0000),
    "F16": ("<u2", 0x7C00),
    "BF16": ("<u2", 0x7F80),
}
_INTEGERS = frozenset({"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64"})


class UnreadableError(ValueError):
    """The bytes are no safetensors file."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: dtype in the words of safetensors, shape, little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def finite(self) -> bool:
        """Whether no element is NaN or infinite; an unknown dtype is not."""
        if self.dtype in _INTEGERS:
            return True
        if self.dtype not in _INFINITY:
            return False
        unsigned, infinity = _INFINITY[self.dtype]
        return bool(np.all((np.frombuffer(self.data, dtype=unsigned) & infinity) != infinity))


@dataclass(frozen=True, slots=True)
class Weights:
    """A checkpoint's tensors by name."""

    tensors: Mapping[str, Tensor]

    @classmethod
    def parse(cls, data: bytes) -> "Weights":
        """The tensors of a file; raises UnreadableError."""
        try:
            found = deserialize(data)
        except SafetensorError as cause:
            raise UnreadableError(f"not a safetensors file: {cause}") from cause
        tensors = {
            name: Tensor(inner["dtype"], tuple(inner["shape"]), bytes(inner["data"]))
            for name, inner in sorted(found)
        }
        return cls(tensors)

    def digest(self) -> str:
        """sha256 over name, dtype, shape and bytes of each tensor in the order of names."""
        sha = hashlib.sha256()
        for name, tensor in self.tensors.items():
            shape = "x".join(map(str, tensor.shape))
            sha.update(f"{name}\0{tensor.dtype}\0{shape}\0{len(tensor.data)}\0".encode())
            sha.update(tensor.data)
        return f"sha256:{sha.hexdigest()}"

    def misfit(self, base: "Weights") -> Unfit | None:
        """Why these cannot be scored in the place of `base`, None when they can."""
        if _shapes(self) != _shapes(base):
            return "WRONG_TENSORS"
        if not all(tensor.finite() for tensor in self.tensors.values()):
            return "NOT_FINITE"
        return None


def _shapes(weights: Weights) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (tensor.dtype, tensor.shape) for name, tensor in weights.tensors.items()}
