"""The weights of a checkpoint as the sealed process takes them: their digest, and whether they fit
the base."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rsi_master.domains.training import tensors
from rsi_master.domains.training.tensors import Tensor

Unfit = Literal["WRONG_TENSORS", "NOT_FINITE"]


@dataclass(frozen=True, slots=True)
class Weights:
    """A checkpoint's tensors by name."""

    tensors: Mapping[str, Tensor]

    @classmethod
    def parse(cls, data: bytes) -> "Weights":
        """The tensors of a safetensors file; raises `tensors.Unreadable`."""
        return cls(tensors.parse(data))

    def digest(self) -> str:
        """The name of these weights in records."""
        return tensors.digest(self.tensors)

    def misfit(self, base: "Weights") -> Unfit | None:
        """Why these cannot be scored in the place of `base`, None when they can."""
        if _shapes(self) != _shapes(base):
            return "WRONG_TENSORS"
        if not all(tensor.finite() for tensor in self.tensors.values()):
            return "NOT_FINITE"
        return None


def _shapes(weights: Weights) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (tensor.dtype, tensor.shape) for name, tensor in weights.tensors.items()}
