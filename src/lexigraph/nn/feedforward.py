"""The position-wise half of a transformer layer: widen, bend, narrow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.linear import Linear

Activation = Literal["relu", "gelu", "gelu-tanh", "silu"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,  # x Φ(x)
    "gelu-tanh": partial(F.gelu, approximate="tanh"),  # the form that GPT-2 was trained with
    "silu": F.silu,  # x σ(x)
}


class FeedForward(nn.Module):
    """FFN(x) = f(x W1 + b1) W2 + b2"""

    def __init__(self, dim: int, inner: int, activation: Activation, bias: bool = True) -> None:
        super().__init__()
        self.widen = Linear(dim, inner, bias=bias)
        self.narrow = Linear(inner, dim, bias=bias)
        self.activation = ACTIVATIONS[activation]

    def forward(self, x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape d"]:
        return self.narrow(self.activation(self.widen(x)))
