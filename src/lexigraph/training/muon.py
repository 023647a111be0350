"""Muon (Jordan 2024): a step of equal size in every direction of a matrix.

    M ← μ M + (1 - μ) G                                the gradient's running mean
    U = orthogonal part of (1 - μ) G + μ M             U Σ Vᵀ becomes U Vᵀ, by Newton and Schulz
    W ← W - lr · 0.2 √max(rows, columns) · U           so that an entry moves about as far as with Adam

Where Adam follows a gradient's few strong directions, the weak ones now move as fast. Weights that are no matrices
(norms, biases), embeddings and output tables, whose rows are vectors each by itself, are left to Adam.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lexigraph.nn.linear import OutputTable

MOMENTUM = 0.95
COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of Newton and Schulz's fifth-degree step, tuned for speed by Jordan
ITERATIONS = 5


def orthogonal(matrices: Float[Tensor, "n a b"], dtype: torch.dtype) -> Float[Tensor, "n a b"]:
    """Nearly the nearest orthogonal matrix of each: singular values go to 0.7 … 1.2, singular vectors stay."""
    a, b, c = COEFFICIENTS
    X = matrices.to(dtype)
    tall = X.shape[1] > X.shape[2]
    X = X.mT if tall else X
    X = X / X.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X.mT if tall else X


class Muon(torch.optim.AdamW):
    """Muon for the groups with `matrices` set, AdamW for the others."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # fused AdamW skips a step of infinite gradients by itself; this one leaves that to the scaler of fp16
        self._step_supports_amp_scaling = False

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        groups = self.param_groups
        with torch.no_grad():
            for group in groups:
                if group["matrices"]:
                    self._orthogonal_step(group)
        self.param_groups = [group for group in groups if not group["matrices"]]
        try:
            return super().step(closure)
        finally:
            self.param_groups = groups

    def _orthogonal_step(self, group: dict[str, Any]) -> None:
        """Matrices of one shape go through the iteration together: few large products instead of many small ones."""
        alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for parameter in group["params"]:
            if parameter.grad is not None:
                alike[as_matrix(parameter).shape].append(parameter)
        for shape, parameters in alike.items():
            gradients: list[Tensor] = [p.grad for p in parameters if p.grad is not None]
            means = [self._mean(p) for p in parameters]
            torch._foreach_lerp_(means, gradients, 1 - MOMENTUM)
            ahead = torch._foreach_lerp(gradients, means, MOMENTUM)  # Nesterov: look where the mean will be
            dtype = torch.bfloat16 if parameters[0].is_cuda else parameters[0].dtype
            updates = orthogonal(torch.stack([as_matrix(u) for u in ahead]), dtype).to(parameters[0].dtype)
            if group["weight_decay"]:
                torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            size = -group["lr"] * 0.2 * math.sqrt(max(shape))
            for parameter, update in zip(parameters, updates, strict=True):
                parameter.add_(update.view(parameter.shape), alpha=size)

    def _mean(self, parameter: Tensor) -> Tensor:
        state = self.state[parameter]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        return state["momentum_buffer"]


def as_matrix(weight: Tensor) -> Float[Tensor, "a b"]:
    """A weight as the matrix that it multiplies with: of a convolution, outputs against all that it looks at."""
    return weight.flatten(1) if weight.dim() == 4 else weight.flatten(0, -2)


def matrices(network: nn.Module) -> set[int]:
    """The ids of the parameters that Muon trains: weights of products, by the names of torch.nn, not of tables."""
    return {
        id(parameter)
        for module in network.modules()
        if not isinstance(module, nn.Embedding | OutputTable)
        for name, parameter in module.named_parameters(recurse=False)
        if name.startswith("weight") and parameter.dim() >= 2
    }
