"""The position-wise half of a transformer layer: widen, bend, narrow.

FFN(x) = f(x W1 + b1) W2 + b2                  gated: (f(x W1) * x V) W2        (Shazeer 2020)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.linear import Linear

Activation = Literal["relu", "gelu", "gelu-tanh", "silu", "swish"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,  # x Φ(x)
    "gelu-tanh": partial(F.gelu, approximate="tanh"),  # the form that GPT-2 was trained with
    "silu": F.silu,  # x σ(x)
}


class Swish(nn.Module):
    """x σ(βx), β learned (Ramachandran et al. 2017)."""

    def __init__(self) -> None:
        super().__init__()
        self.beta = nn.Parameter(torch.ones(()))

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return x * torch.sigmoid(self.beta * x)


class FeedForward(nn.Module):
    """Two linear layers with an activation between them; gated, what comes of a third multiplies it."""

    def __init__(self, dim: int, inner: int, activation: Activation, bias: bool = True, gated: bool = False) -> None:
        super().__init__()
        self.widen = Linear(dim, inner, bias=bias)
        if gated:
            self.gate = Linear(dim, inner, bias=bias)
        self.gated = gated
        self.narrow = Linear(inner, dim, bias=bias)
        self.activation = Swish() if activation == "swish" else ACTIVATIONS[activation]

    def forward(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape d"]:
        wide = self.activation(self.widen(x))
        return self.narrow(wide * self.gate(x) if self.gated else wide)
