"""Muon in single precision, with matrices of one shape orthogonalised in one batch.

`torch.optim.Muon` works in bfloat16 one matrix at a time, which on a CPU costs more than the
model's own step.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import torch

# Quintic Newton-Schulz iteration of Jordan et al., "Muon" (2024).
_COEFFICIENTS: Final = (3.4445, -4.7750, 2.0315)
_ITERATIONS: Final = 5
_SMALLEST_NORM: Final = 1e-7


def orthogonalised(matrices: torch.Tensor) -> torch.Tensor:
    """Return (n, rows, columns) matrices with the same singular vectors, singular values near 1."""
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if tall else matrices
    x = x / x.norm(dim=(-2, -1), keepdim=True).clamp_min(_SMALLEST_NORM)
    a, b, c = _COEFFICIENTS
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.mT if tall else x


class Muon:
    """Nesterov momentum whose update is orthogonalised, scaled by the shape of the matrix."""

    def __init__(self, matrices: Iterable[torch.Tensor], momentum: float = 0.95) -> None:
        shapes: dict[torch.Size, list[torch.Tensor]] = defaultdict(list)
        for matrix in matrices:
            shapes[matrix.shape].append(matrix)
        self._groups = list(shapes.values())
        self._velocities = [torch.zeros(len(group), *group[0].shape) for group in self._groups]
        self._momentum = momentum

    def step(self, rate: float) -> None:
        """Update every matrix by its gradient, which must be there."""
        with torch.no_grad():
            for group, velocity in zip(self._groups, self._velocities, strict=True):
                gradients = torch.stack([matrix.grad for matrix in group])
                velocity.lerp_(gradients, 1 - self._momentum)
                updates = orthogonalised(gradients.lerp(velocity, self._momentum))
                rows, columns = group[0].shape
                scale = rate * max(1.0, rows / columns) ** 0.5
                for matrix, update in zip(group, updates, strict=True):
                    matrix.sub_(update, alpha=scale)
