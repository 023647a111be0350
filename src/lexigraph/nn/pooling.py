"""Ways from any number of positions to one vector, other than Gram pooling (nn/gram.py).

    attention    16 trained queries look at the positions, and what they see is put side by side
                 z = O [softmax(q_h Aᵀ) A]_h                 an average: how many positions there are does not show
    slots        every position is shared out among 16 slots with a matrix each
                 z = Σ_h O_h (SᵀA)_h,  S = softmax(A Q)      a sum over the positions, as Gram pooling is

Both have biases, which the lines leave out.

Rows of A that are zero are padding.

Shapes: B batch, T positions, d width.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class AttentionPooling(nn.Module):
    """The usual way to one vector: each query takes what it looks for."""

    def __init__(self, dim: int, vectors: int = 1) -> None:
        super().__init__()
        self.queries = nn.Parameter(torch.randn(16, dim) * dim**-0.5)
        self.out = nn.Linear(16 * dim, vectors * dim)
        self.vectors = vectors

    def forward(self, A: Float[Tensor, "B T d"]) -> Float[Tensor, "B vectors d"]:
        scores = (self.queries @ A.transpose(1, 2)).masked_fill((A == 0).all(2)[:, None], -math.inf)
        return self.out((scores.softmax(2) @ A).flatten(1)).unflatten(1, (self.vectors, -1))


class SlotPooling(nn.Module):
    """z = Σ_t Σ_h s_th O_h a_t: where a word goes (s_t) is kept apart from what it is (a_t)."""

    def __init__(self, dim: int, vectors: int = 1) -> None:
        super().__init__()
        self.share = nn.Linear(dim, 16)
        self.out = nn.Linear(16 * dim, vectors * dim)
        self.vectors = vectors

    def forward(self, A: Float[Tensor, "B T d"]) -> Float[Tensor, "B vectors d"]:
        slots = self.share(A).softmax(2).transpose(1, 2) @ A  # (B, 16, d)
        return self.out(slots.flatten(1)).unflatten(1, (self.vectors, -1))
