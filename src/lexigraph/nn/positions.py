"""Where a token stands: sinusoidal tables and rotary rotations. (Learned positions are an embedding.)

sinusoidal   PE[t, 2i] = sin(t / 10000^(2i/d)),  PE[t, 2i+1] = cos(t / 10000^(2i/d))
rotary       the pair (x_i, x_{i+D/2}) of a query or key is turned by the angle t / 10000^(2i/D),
             so that a product of query and key depends on the distance between their positions only
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Shaped
from torch import Tensor


def sinusoidal(length: int, dim: int) -> Float[Tensor, "length dim"]:
    """The fixed table of Vaswani et al. (2017)."""
    table, angles = torch.zeros(length, dim), torch.arange(length)[:, None] * _frequencies(dim)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()[:, : dim // 2]
    return table


def rotary(length: int, dim: int) -> Float[Tensor, "2 length dim"]:
    """Cosines and sines for `turn`, both halves of a head alike (Su et al. 2021)."""
    return rotations(torch.arange(length), dim)


def rotations(positions: Shaped[Tensor, "*B T"], dim: int) -> Float[Tensor, "2 *B T dim"]:
    """The same for tokens that stand at any positions, whole numbers or not."""
    angles = positions.float().unsqueeze(-1) * _frequencies(dim, positions.device)
    angles = torch.cat([angles, angles], -1)
    return torch.stack([angles.cos(), angles.sin()])


def turn(x: Float[Tensor, "B H T D"], angles: Float[Tensor, "2 *#shape T D"]) -> Float[Tensor, "B H T D"]:
    """Turn queries or keys by angles that are given as cosines and sines, one for each position."""
    cos, sin = angles.to(x.dtype)
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat([-right, left], -1) * sin


def _frequencies(dim: int, device: torch.device | None = None) -> Float[Tensor, " half"]:
    return 10000.0 ** (-torch.arange(0, dim, 2, device=device).float() / dim)
